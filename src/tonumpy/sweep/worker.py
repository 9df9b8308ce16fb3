"""Runs a request in a child process, within limits of time and memory."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time

import psutil

from tonumpy.sweep.messages import Failure, Orders, Reply, Request
from tonumpy.text.reading import read_regular

REPLY = "reply"  # the file in the process's folder
_GLANCE = 0.05  # seconds between two checks of a task's memory
stopping = threading.Event()  # set if the command ends before its tasks


def run_task(request: Request) -> Reply:
    """Run the task in a child process; if that exceeds memory or time, or dies, the reply is a failure."""
    work = tempfile.mkdtemp(prefix="tonumpy-sweep-")
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "tonumpy.sweep.repository_task"],
        cwd=work,
        stdin=subprocess.PIPE,  # stays open: the process ends with this one
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # the warnings of a command are for who started it
        start_new_session=True,  # so that git ends with it
    )
    try:
        assert process.stdin is not None
        process.stdin.write(pickle.dumps(request))
        process.stdin.flush()
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GLANCE)
            failure = _exceeded(request.orders, _memory(process.pid), time.monotonic() - start)
            if failure is not None:
                return Reply(failure=failure)
        reply: Reply = pickle.loads(read_regular(os.path.join(work, REPLY)))
    except (OSError, pickle.UnpicklingError):
        return Reply(failure=Failure("died", "its process ended unexpectedly"))
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        # shutil.rmtree recurses, and a repository may contain a thousand nested folders.
        subprocess.run(["rm", "-rf", work], stderr=subprocess.DEVNULL)
    return reply


def _exceeded(orders: Orders, memory: int, seconds: float) -> Failure | None:
    if stopping.is_set():
        return Failure("engine", "the command ended")
    if seconds > orders.seconds:
        return Failure("time", f"took more than {orders.seconds:g} seconds")
    if memory > orders.memory:
        return Failure("memory", f"held more than {orders.memory / 2**20:.0f} MiB")
    return None


def _memory(process: int) -> int:
    with contextlib.suppress(psutil.Error):
        return int(psutil.Process(process).memory_info().rss)
    return 0
