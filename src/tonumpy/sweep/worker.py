"""What a worker of the engine does with a request: hand it to a supervisor, one for each of its threads."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from tonumpy.sweep.messages import Failure, Reply

if TYPE_CHECKING:
    from tonumpy.sweep.messages import Request

_of_thread = threading.local()


def perform(request: Request) -> Reply:
    supervisor: subprocess.Popen[bytes] | None = getattr(_of_thread, "supervisor", None)
    if supervisor is None or supervisor.poll() is not None:
        supervisor = _of_thread.supervisor = _start()
    try:
        assert supervisor.stdin is not None and supervisor.stdout is not None
        pickle.dump(request, supervisor.stdin)
        supervisor.stdin.flush()
        reply: Reply = pickle.load(supervisor.stdout)
    except (OSError, EOFError, pickle.UnpicklingError):
        supervisor.kill()
        supervisor.wait()
        _of_thread.supervisor = None
        return Reply(failure=Failure("died", "the process that supervises its process ended unexpectedly"))
    return reply


def _start() -> subprocess.Popen[bytes]:
    """Its standard input ends with this process, and then so does the supervisor, whatever it is at."""
    return subprocess.Popen(
        [sys.executable, "-m", "tonumpy.sweep.supervisor"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONHASHSEED": "0"},
    )
