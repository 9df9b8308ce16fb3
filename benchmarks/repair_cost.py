"""What the repair costs: each way to convert against plain `.numpy()` (on the CPU) or `.cpu().numpy()` (on CUDA).

    python benchmarks/repair_cost.py [--rounds N]

All ways of a table are timed in turn, round after round, in one process, and the best turn of each is printed as a
ratio: whatever else the machine does only ever makes a turn slower.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable

import torch
from torch import Tensor

Way = Callable[[Tensor], object]

CPU: dict[str, Way] = {
    "t.numpy()": lambda t: t.numpy(),
    "t.detach().numpy()": lambda t: t.detach().numpy(),
    "t.cpu().numpy()": lambda t: t.cpu().numpy(),
    "t.detach().cpu().numpy()": lambda t: t.detach().cpu().numpy(),
    "t.cpu().detach().numpy()": lambda t: t.cpu().detach().numpy(),
    "t.numpy(force=True)": lambda t: t.numpy(force=True),
    "t.detach().cpu().numpy().copy()": lambda t: t.detach().cpu().numpy().copy(),
    "t.detach().cpu().clone().numpy()": lambda t: t.detach().cpu().clone().numpy(),
}
CUDA: dict[str, Way] = {
    "t.cpu().numpy()": lambda t: t.cpu().numpy(),
    **{way: convert for way, convert in CPU.items() if "cpu()." in way or "force" in way},
    "t.detach().clone().cpu().numpy()": lambda t: t.detach().clone().cpu().numpy(),
}
# Only these can convert a tensor that requires grad.
WITH_GRAD = ("t.detach().cpu().numpy()", "t.cpu().detach().numpy()", "t.numpy(force=True)")

SIZES = {"1 element": 1, "1 thousand": 1_000, "1 million": 1_000_000, "4 million": 4_000_000}
TURN = 0.002  # seconds: long for the clock, and short enough that some turns go undisturbed


def main() -> None:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30, help="how often each way takes its turn (default: 30)")
    rounds = parser.parse_args().rounds
    print(f"Python {platform.python_version()}, torch {torch.__version__}, {rounds} rounds")
    table("CPU, a tensor without grad: what the links cost where they are not needed", "cpu", CPU, rounds)
    table("CPU, a tensor that requires grad", "cpu", {way: CPU[way] for way in WITH_GRAD}, rounds, grad=True)
    if torch.cuda.is_available():
        name = torch.cuda.get_device_name()
        table(f"{name}, a tensor without grad", "cuda", CUDA, rounds)
        table(f"{name}, a tensor that requires grad", "cuda", {way: CUDA[way] for way in WITH_GRAD}, rounds, grad=True)
    else:
        print("\nCUDA is not available: not measured there.")


def table(title: str, device: str, ways: dict[str, Way], rounds: int, *, grad: bool = False) -> None:
    best = [best_of(ways, torch.ones(size, device=device, requires_grad=grad), rounds) for size in SIZES.values()]
    first = next(iter(ways))
    print(f"\n{title} (ratio to `{first}`; its microseconds in brackets)\n")
    print(f"{'':<36}" + "".join(f"{size:>18}" for size in SIZES))
    for way in ways:
        cells = [f"{each[way] / each[first]:.2f}" for each in best]
        if way == first:
            cells = [f"{cell} ({each[first] * 1e6:.1f})" for cell, each in zip(cells, best, strict=True)]
        print(f"{way:<36}" + "".join(f"{cell:>18}" for cell in cells))


def best_of(ways: dict[str, Way], tensor: Tensor, rounds: int) -> dict[str, float]:
    """Seconds a call. Every way ends with an array on the CPU, so a GPU is waited for."""
    counts = {way: max(1, round(TURN / seconds(convert, tensor, 3))) for way, convert in ways.items()}
    turns = [{way: seconds(convert, tensor, counts[way]) for way, convert in ways.items()} for _ in range(rounds)]
    return {way: min(turn[way] for turn in turns) for way in ways}


def seconds(convert: Way, tensor: Tensor, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        convert(tensor)
    return (time.perf_counter() - start) / count


if __name__ == "__main__":
    main()
