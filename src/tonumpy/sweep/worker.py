"""Runs a request in a worker of the cluster: a process of its own reads the repository, within limits."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import psutil

from tonumpy.sweep.folders import remove_folder
from tonumpy.sweep.messages import Cost, Failure, Reply

if TYPE_CHECKING:
    from tonumpy.sweep.messages import Orders, Request

_GLANCE = 0.05  # seconds between two looks at how much memory a task holds


def run_task(request: Request) -> Reply:
    """Run the task. A process that exhausts memory or time, or dies, takes nothing with it."""
    os.makedirs(request.orders.scratch, mode=0o700, exist_ok=True)
    work = tempfile.mkdtemp(dir=request.orders.scratch)
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "tonumpy.sweep.repository_task"],
        cwd=work,
        env=os.environ | {"PYTHONHASHSEED": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # the warnings of a command are for who started it
        start_new_session=True,  # so that git ends with it
    )
    to_send: bytes | None = pickle.dumps(request)
    most = 0
    try:
        while True:
            try:
                answer, _ = process.communicate(to_send, timeout=_GLANCE)
                break
            except subprocess.TimeoutExpired:
                to_send = None  # it goes on with what it was given
                most = max(most, _memory(process.pid))
                failure = _exceeded(request.orders, most, time.monotonic() - start)
                if failure is not None:
                    return Reply(failure=failure, cost=Cost(time.monotonic() - start, 0.0, most))
        reply: Reply = pickle.loads(answer)
    except (EOFError, pickle.UnpicklingError, OSError):
        failure = Failure("died", "its process ended unexpectedly")
        return Reply(failure=failure, cost=Cost(time.monotonic() - start, 0.0, most))
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            process.communicate()
        remove_folder(work)
    return reply


def _exceeded(orders: Orders, memory: int, seconds: float) -> Failure | None:
    if seconds > orders.seconds:
        return Failure("time", f"took more than {orders.seconds:g} seconds")
    if memory > orders.memory:
        return Failure("memory", f"held more than {orders.memory / 2**20:.0f} MiB")
    return None


def _memory(process: int) -> int:
    try:
        found: int = psutil.Process(process).memory_info().rss
    except psutil.Error:
        return 0
    return found
