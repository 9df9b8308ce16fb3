"""Measure a sweep with one worker and with two, and plot that beside a model for more.

    python scripts/measure_sweep.py MANIFEST docs/sweep.svg

The model is no measurement: T(n) = start + max(W / n + L * (1 - 1 / n), N * s), where W is the time of all tasks,
L that of the longest, N their number, and s what the process with the scheduler spends on one.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import pyarrow.parquet as pq
from matplotlib.figure import Figure

WORKERS = (1, 2, 4, 8, 16, 32, 64)


class Run(NamedTuple):
    """Seconds: of the whole, of each task, and of the processor in the process with the scheduler."""

    seconds: float
    tasks: list[float]
    serial: float


def main() -> None:
    manifest, plot = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        start = _sweep(manifest, f"{folder}/0", 1, first=True)
        one = _sweep(manifest, f"{folder}/1", 1)
        two = _sweep(manifest, f"{folder}/2", 2)
    count = len(one.tasks)
    each = max(0.0, one.serial - start.serial) / count
    begin = start.seconds - sum(start.tasks)
    print(f"{count} tasks, {sum(one.tasks):.1f} s, the longest {max(one.tasks):.1f} s")
    print(f"start and end: {begin:.1f} s; the process with the scheduler: {each * 1000:.1f} ms a task")
    modelled = [_model(n, begin, one, each) for n in WORKERS]
    print("| workers | measured | model |\n|---|---|---|")
    measured = {1: one.seconds, 2: two.seconds}
    for n, seconds in zip(WORKERS, modelled, strict=True):
        print(f"| {n} | {f'{measured[n]:.1f} s' if n in measured else ''} | {seconds:.1f} s |")
    _plot(plot, measured, modelled, count)


def _sweep(manifest: str, out: str, workers: int, *, first: bool = False) -> Run:
    """With `first`, of the first repository alone, for what it takes to start and to end."""
    if first:
        shorter = Path(out).with_suffix(".csv")
        shorter.write_text("".join(Path(manifest).read_text().splitlines(keepends=True)[:2]))
        manifest = str(shorter)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "tonumpy", "sweep", manifest, out, "--workers", str(workers), "--quiet"]
    done = subprocess.run(command)
    if done.returncode not in (0, 1):
        sys.exit(f"the sweep ended with {done.returncode}")
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    rows = pq.read_table(f"{out}/repositories").to_pylist()
    # Workers are waited for as well; what they spend on top of their tasks is counted as the scheduler's, to be safe.
    serial = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(seconds, [row["seconds"] for row in rows], serial)


def _model(workers: int, start: float, one: Run, each: float) -> float:
    spread = sum(one.tasks) / workers + max(one.tasks) * (1 - 1 / workers)
    return start + max(spread, len(one.tasks) * each)


def _plot(path: str, measured: dict[int, float], modelled: list[float], count: int) -> None:
    mpl.rcParams["svg.hashsalt"] = "tonumpy"
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.loglog(WORKERS, modelled, "--", color="#64748b", label="model, not measured")
    axes.loglog(list(measured), list(measured.values()), "o", color="#c2410c", label="measured")
    axes.set_xticks(WORKERS, [str(n) for n in WORKERS])
    axes.set_yticks([], minor=True)
    axes.set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    axes.set_xlabel("workers")
    axes.set_ylabel(f"seconds for {count} commits")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
