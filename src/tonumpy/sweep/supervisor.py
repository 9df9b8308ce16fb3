"""Requests on standard input; replies on standard output. Each task runs in a process of its own, within limits.

`python -m tonumpy.sweep.supervisor` imports the analysis once and forks for every task: a task that exhausts memory or
time, or dies, takes nothing with it, and what one has read is gone when the next begins. It has one thread, as forking
wants it, which the workers of an engine do not.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import select
import signal
import sys
import tempfile
import time
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING

import psutil

from tonumpy.api import check_source
from tonumpy.sweep.messages import Cost, Failure, Reply
from tonumpy.sweep.scratch import all_places, places, remove_own
from tonumpy.sweep.task import perform

if TYPE_CHECKING:
    from typing import BinaryIO

    from tonumpy.sweep.messages import Request

_GLANCE = 0.05  # seconds between two looks at how much memory a task holds
_WARM_UP = "import torch\n\ndef f(m: torch.nn.Module, x):\n    y = m(x.cuda())\n    return y.numpy(), y.cpu().numpy()\n"


def main() -> None:
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN if name == signal.SIGINT else signal.SIG_DFL)
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing else may come between the replies
    check_source(_WARM_UP, "warm_up.py")
    gc.collect()
    gc.freeze()
    scratch = None
    try:
        while True:
            request: Request = pickle.load(requests)
            scratch = request.orders.scratch
            pickle.dump(supervise(request, requests), replies)
            replies.flush()
    except (EOFError, BrokenPipeError):
        return
    finally:
        for place in all_places(scratch) if scratch is not None else ():
            with contextlib.suppress(OSError):
                os.rmdir(place)  # the last one leaves nothing behind


def supervise(request: Request, parent: BinaryIO) -> Reply:
    """Run the task; it is stopped when it exceeds a limit, or when the process that asked for it is gone."""
    reply = Reply()
    for place in places(request.orders.scratch):
        reply = _supervise(request._replace(orders=request.orders._replace(scratch=place)), parent)
        if reply.failure is None or reply.failure.kind != "disk":
            break
    return reply


def _supervise(request: Request, parent: BinaryIO) -> Reply:
    os.makedirs(request.orders.scratch, mode=0o700, exist_ok=True)
    work = tempfile.mkdtemp(dir=request.orders.scratch)
    receiving, sending = Pipe(duplex=False)
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        receiving.close()
        _run(request, work, sending)
    sending.close()
    try:
        return _wait(child, receiving, request, parent, start)
    finally:
        receiving.close()
        remove_own(work)


def _run(request: Request, work: str, sending: Connection) -> None:
    """In the new process, which ends here whatever happens."""
    try:
        os.setpgid(0, 0)  # so that git ends with it
        os.dup2(1, 2)  # the warnings of a command are for who started it
        sending.send(perform(request, work))
    except BaseException as error:
        import traceback  # saves start-up

        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
        sending.send(Reply(failure=Failure("died", f"internal error: {type(error).__name__}: {error} ({place})")))
    finally:
        os._exit(0)


def _wait(child: int, receiving: Connection, request: Request, parent: BinaryIO, start: float) -> Reply:
    process = psutil.Process(child)
    most = 0
    reply: Reply | None = None
    try:
        while reply is None:
            ready = select.select([receiving.fileno(), parent.fileno()], [], [], _GLANCE)[0]
            if receiving.fileno() in ready:
                reply = receiving.recv()
            elif ready:  # nothing is sent meanwhile, so this is the end of the pipe
                raise BrokenPipeError
            else:
                most = max(most, _memory(process))
                reply = _exceeded(request, most, time.monotonic() - start)
    except EOFError:
        reply = Reply(failure=Failure("died", "its process ended unexpectedly"))
    finally:
        _kill(child)
    assert reply is not None
    cost = reply.cost if reply.cost.seconds else Cost(time.monotonic() - start, 0.0, most)
    return reply._replace(cost=cost)


def _exceeded(request: Request, memory: int, seconds: float) -> Reply | None:
    orders = request.orders
    if seconds > orders.seconds:
        return Reply(failure=Failure("time", f"took more than {orders.seconds:g} seconds"))
    if memory > orders.memory:
        return Reply(failure=Failure("memory", f"held more than {orders.memory / 2**20:.0f} MiB"))
    return None


def _memory(process: psutil.Process) -> int:
    try:
        found: int = process.memory_info().rss
    except psutil.Error:
        return 0
    return found


def _kill(child: int) -> None:
    """The process, and git if it runs for it."""
    for send in (os.killpg, os.kill):
        try:
            send(child, signal.SIGKILL)
        except OSError:
            continue
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
