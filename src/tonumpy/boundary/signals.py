"""Ends the program soon after a terminating signal, without leaving a process or a half-written file.

The first signal raises KeyboardInterrupt, so that `finally` clauses run; a second ends the program at once. Worker
processes are killed at once, and end by themselves if this process is killed.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_MOMENT = 0.1  # seconds to wait for a killed worker
_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Signals:
    """The signals that a program has received."""

    def __init__(self) -> None:
        self.number = 0  # of the first signal
        self.is_patient = True  # False: the first signal ends the program, too
        self._owner = os.getpid()
        self._is_told = False

    @property
    def code(self) -> int:
        """The exit code by the convention of shells."""
        return 128 + (self.number or signal.SIGINT)

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal was received: some libraries swallow exceptions in their callbacks."""
        if self.number:
            raise KeyboardInterrupt

    def tell(self) -> None:
        """Print once, to standard error, that the program was interrupted."""
        if not self._is_told:
            self._is_told = True
            with contextlib.suppress(OSError):
                os.write(2, b"tonumpy: interrupted\n")

    def note(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self._owner:  # a child that has just been forked
            os._exit(128 + number)
        is_first, self.number = not self.number, self.number or number
        _kill_workers()
        if is_first and self.is_patient:
            raise KeyboardInterrupt
        self.tell()
        os._exit(self.code)


_current: list[Signals] = []


def current() -> Signals:
    """The signals of the running program."""
    return _current[-1] if _current else Signals()


@contextmanager
def raised(*replaced: Callable[[int, FrameType | None], None]) -> Iterator[Signals]:
    """Context manager: the first terminating signal raises KeyboardInterrupt, unless it is ignored or has a handler.

    `replaced` are handlers that are overridden nevertheless.
    """
    signals, before = current(), {}
    _current.append(signals)
    try:
        with contextlib.suppress(ValueError):  # not in the main thread, the only one that gets signals
            for number in _NUMBERS:
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, *replaced):
                    before[number] = signal.signal(number, signals.note)
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _current.pop()


def begin_worker() -> None:
    """Make a worker process end with its parent, and ignore a terminal's interrupt, which the parent handles."""
    from threading import Thread  # start-up

    Thread(target=_end_with_parent, daemon=True).start()
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)


def _end_with_parent() -> None:
    from multiprocessing import connection, parent_process  # start-up

    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def _kill_workers() -> None:
    """Kill the processes of `multiprocessing` that this process has started, and wait a moment for their end."""
    multiprocessing = sys.modules.get("multiprocessing")
    workers = multiprocessing.active_children() if multiprocessing is not None else []
    for act in ("kill", "join"):
        for worker in workers:
            with contextlib.suppress(OSError, ValueError, AssertionError):
                worker.kill() if act == "kill" else worker.join(_MOMENT)
