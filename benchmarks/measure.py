"""Runs a command and measures what it costs: CPU seconds of all its processes, wall seconds and peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Cost(NamedTuple):
    """`cpu` is user and system time together; `memory` is the peak of the largest of the processes, in megabytes."""

    cpu: float
    wall: float
    memory: float


def cost_of(command: Sequence[str]) -> Cost:
    """RuntimeError where the command fails: 0 and 1 are what tools that found nothing or something end with."""
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if run.returncode not in (0, 1, 123):  # 123: xargs, of a command that ended with 1
        raise RuntimeError(f"ended with {run.returncode}: {' '.join(command)}")
    kilobyte = 1 if sys.platform == "darwin" else 1024
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * kilobyte / 1e6)


def median(costs: Iterable[Cost]) -> Cost:
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))
