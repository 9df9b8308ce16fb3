"""How much longer a training step takes on the stand-in accelerator than on the CPU: python -m benchmarks.standin

Both are measured in one process and with one thread, in time of the processor and in time that passes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch
from torch import nn

from tonumpy.rehearsal.standin import pretend

if TYPE_CHECKING:
    from collections.abc import Callable

    Step = Callable[[], object]

ROUNDS, STEPS = 5, 20


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


def _step(model: nn.Module, loss_of: Callable[[], torch.Tensor]) -> Step:
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()

    return step


def _milliseconds(step: Step) -> tuple[float, float]:
    """Of the processor, and as they pass: the best of several rounds."""
    for _ in range(5):
        step()
    rounds = []
    for _ in range(ROUNDS):
        begun = time.process_time(), time.perf_counter()
        for _ in range(STEPS):
            step()
        rounds.append((time.process_time() - begun[0], time.perf_counter() - begun[1]))
    return min(each[0] for each in rounds) / STEPS * 1000, min(each[1] for each in rounds) / STEPS * 1000


def main() -> None:
    """Print a line for each model."""
    torch.set_num_threads(1)
    models = (small_cnn, cnn, transformer_layer)
    with pretend("cuda", lambda event, tensor: None):  # noqa: ARG005  first: autograd counts devices at its first step
        there = {model: _milliseconds(model("cuda")) for model in models}
        beside = {model: _milliseconds(model("cpu")) for model in models}
    for model in models:
        plain = _milliseconds(model("cpu"))
        print(f"{model.__name__.replace('_', ' ')}: {plain[0]:.2f} ms of the processor, {plain[1]:.2f} ms as they pass")
        for place, found in (("on the stand-in", there[model]), ("on the CPU beside it", beside[model])):
            print(f"    {place}: {found[0] / plain[0]:.1f} and {found[1] / plain[1]:.1f} times that")


if __name__ == "__main__":
    main()
