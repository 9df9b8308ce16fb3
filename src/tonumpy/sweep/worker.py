"""Runs a request in a process of its own, which reads the repository within limits."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time

from tonumpy.sweep.messages import Failure, Reply, Request
from tonumpy.text.reading import read_regular

REPLY = "reply"  # the file in the process's folder
_GLANCE = 0.05  # seconds between two looks at a task
stopping = threading.Event()  # set where the command ends before its tasks


def run_task(request: Request) -> Reply:
    """Run the task. A process that exhausts memory or time, or dies, takes nothing with it."""
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
            if stopping.is_set():
                return Reply(failure=Failure("engine", "the command ended"))
            if time.monotonic() - start > request.orders.seconds:
                return Reply(failure=Failure("time", f"took more than {request.orders.seconds:g} seconds"))
        reply: Reply = pickle.loads(read_regular(os.path.join(work, REPLY)))
    except (OSError, pickle.UnpicklingError):
        return Reply(failure=Failure("died", "its process ended unexpectedly"))
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        # Python's own way recurses, and a repository may hold a thousand folders in one another.
        subprocess.run(["rm", "-rf", work], stderr=subprocess.DEVNULL)
    return reply
