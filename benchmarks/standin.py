"""How much longer a training step takes on the stand-in accelerator: python -m benchmarks.standin [MODEL...]

Both are measured in one process and with one thread, in turns, in time of the processor and in time that
passes: the quickest on the CPU, and the median of the ratios of all rounds.
"""

from __future__ import annotations

import sys
import time
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from tonumpy.rehearsal.standin import pretend

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Step = Callable[[], object]
    Numbers = npt.NDArray[np.generic]

ROUNDS, WARM = 7, 3


def small_cnn(device: str, width: int = 8, size: int = 16) -> Step:
    """Two convolutions and Adam, a batch of 16 small pictures."""
    model = nn.Sequential(
        *(nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        nn.Linear(2 * width, 10),
    ).to(device)
    x, y = torch.randn(16, 3, size, size, device=device), torch.randint(0, 10, (16,), device=device)
    return _step(model, lambda: nn.functional.cross_entropy(model(x), y))


def cnn(device: str) -> Step:
    """The same, twice as wide, on pictures of 32 by 32."""
    return small_cnn(device, 16, 32)


def transformer_layer(device: str) -> Step:
    """One layer of width 64, a batch of 8 texts of 32 tokens."""
    model = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).to(device)
    x = torch.randn(8, 32, 64, device=device)
    return _step(model, lambda: model(x).pow(2).mean())


def ppo(device: str, worlds: int = 4, steps: int = 32) -> Step:
    """A round of proximal policy optimization as single-file implementations have it: 32 steps in each of 4 worlds, and
    4 epochs of 4 batches. Most of its operators have a handful of numbers to compute."""
    critic, actor = _mlp(4, 1).to(device), _mlp(4, 2).to(device)
    optimizer = torch.optim.Adam([*critic.parameters(), *actor.parameters()], lr=2.5e-4, eps=1e-5)
    world = _Poles(worlds)
    size = (steps, worlds)
    observations = torch.zeros((*size, 4), device=device)
    actions, chances, rewards, ends, values = (torch.zeros(size, device=device) for _ in range(5))

    def learn() -> None:
        observed, ended = torch.Tensor(world.seen).to(device), torch.zeros(worlds, device=device)
        for step in range(steps):
            observations[step], ends[step] = observed, ended
            with torch.no_grad():
                policy = torch.distributions.Categorical(logits=actor(observed))
                action = policy.sample()
                values[step] = critic(observed).flatten()
            actions[step], chances[step] = action, policy.log_prob(action)
            reward, over = world.step(action.cpu().numpy())
            rewards[step] = torch.tensor(reward).to(device).view(-1)
            observed, ended = torch.Tensor(world.seen).to(device), torch.Tensor(over).to(device)
        with torch.no_grad():
            following, last = critic(observed).reshape(1, -1), 0
            advantages = torch.zeros_like(rewards).to(device)
            for step in reversed(range(steps)):
                goes_on = 1.0 - (ended if step == steps - 1 else ends[step + 1])
                value = following if step == steps - 1 else values[step + 1]
                delta = rewards[step] + 0.99 * value * goes_on - values[step]
                advantages[step] = last = delta + 0.99 * 0.95 * goes_on * last
            returns = advantages + values
        rows = [each.reshape(-1, *each.shape[2:]) for each in (observations, actions, chances, advantages, returns)]
        places = np.arange(worlds * steps)
        for _ in range(4):
            np.random.shuffle(places)
            for batch in np.split(places, 4):
                seen, done, chance, advantage, wanted = (each[batch] for each in rows)
                policy = torch.distributions.Categorical(logits=actor(seen))
                ratio = (policy.log_prob(done.long()) - chance).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                lost = torch.max(-advantage * ratio, -advantage * torch.clamp(ratio, 0.8, 1.2)).mean()
                off = 0.5 * ((critic(seen).view(-1) - wanted) ** 2).mean()
                loss = lost - 0.01 * policy.entropy().mean() + 0.5 * off
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*critic.parameters(), *actor.parameters()], 0.5)
                optimizer.step()

    return learn


def _mlp(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


class _Poles:
    """Poles to be balanced on carts, all at once."""

    def __init__(self, worlds: int) -> None:
        self._random = np.random.default_rng(0)
        self.seen = self._random.uniform(-0.05, 0.05, (worlds, 4))

    def step(self, action: Numbers) -> tuple[Numbers, Numbers]:
        """The rewards, and which poles fell and were put up again."""
        x, speed, angle, turning = self.seen.T
        push = (20 * action - 10 + 0.05 * turning**2 * np.sin(angle)) / 1.1
        bend = (9.8 * np.sin(angle) - np.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1))
        faster = push - 0.05 * bend * np.cos(angle) / 1.1
        self.seen = self.seen + 0.02 * np.stack([speed, faster, turning, bend], axis=1)
        over = (np.abs(x) > 2.4) | (np.abs(angle) > 0.21)
        self.seen[over] = self._random.uniform(-0.05, 0.05, (int(over.sum()), 4))
        return np.ones(len(over)), over


def _step(model: nn.Module, loss_of: Callable[[], torch.Tensor]) -> Step:
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()

    return step


def _milliseconds(step: Step, times: int) -> tuple[float, float]:
    """Of the processor, and as they pass."""
    for _ in range(WARM):
        step()
    begun = time.process_time(), time.perf_counter()
    for _ in range(times):
        step()
    return (time.process_time() - begun[0]) / times * 1000, (time.perf_counter() - begun[1]) / times * 1000


def main(names: list[str]) -> None:
    """Print a line for each model; NAME... are those that are measured."""
    torch.set_num_threads(1)
    models = {small_cnn: 20, cnn: 10, transformer_layer: 20, ppo: 5}
    chosen = {model: times for model, times in models.items() if not names or model.__name__ in names}
    rounds: dict[str, list[list[tuple[float, float]]]] = {model.__name__: [] for model in chosen}
    for _ in range(ROUNDS):
        with pretend("cuda", lambda event, tensor: None):  # noqa: ARG005  first: autograd counts devices then
            both = [
                [_milliseconds(model(device), times) for device in ("cuda", "cpu")] for model, times in chosen.items()
            ]
        for found, (model, times) in zip(both, chosen.items(), strict=True):
            rounds[model.__name__].append([*found, _milliseconds(model("cpu"), times)])
    for name, each in rounds.items():
        plain = min(alone[0] for _, _, alone in each), min(alone[1] for _, _, alone in each)
        print(f"{name.replace('_', ' ')}: {plain[0]:.2f} ms of the processor, {plain[1]:.2f} ms as they pass")
        for number, place in enumerate(("on the stand-in", "on the CPU beside it")):
            ratios = [median(found[number][of] / found[2][of] for found in each) for of in (0, 1)]
            print(f"    {place}: {ratios[0]:.2f} and {ratios[1]:.2f} times that")


if __name__ == "__main__":
    main(sys.argv[1:])
