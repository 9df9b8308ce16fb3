"""Ends the program within a second of a signal that asks for it: no process, and no half-written file, is left.

`raised` turns the first such signal into Interrupted, so that `finally` clauses run; further ones change nothing. What
still runs after a moment is ended as it is. Worker processes are killed at once, and end by themselves where this
process is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import Timer
    from types import FrameType

SIGNALLED = 128  # and the number of the signal: the exit code, as shells have it
_PATIENCE = 0.6  # seconds
_MOMENT = 0.1
_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted(KeyboardInterrupt):
    """A signal asks for the end of the program; the text says what is to be known beside that."""


class Signals:
    """The signals that have come to a program.

    `words` are told at the end.
    """

    def __init__(self) -> None:
        self.number = 0  # of the first that came
        self.words = "interrupted"
        self._owner = os.getpid()
        self._holders = 0
        self._is_raised = self._is_told = False
        self._timer: Timer | None = None

    @property
    def code(self) -> int:
        return SIGNALLED + (self.number or signal.SIGINT)

    def check(self) -> None:
        """Raise Interrupted where a signal has come: some libraries swallow what is raised in their callbacks."""
        if self.number:
            raise Interrupted

    def tell(self, words: str = "") -> None:
        """Say once, on standard error, that the program was interrupted."""
        if not self._is_told:
            self._is_told = True
            text = f"tonumpy: {words or self.words}\n"
            with contextlib.suppress(OSError):
                os.write(2, text.encode(errors="backslashreplace"))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, a signal is noted; Interrupted is raised at the end."""
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
        if self.number and not self._is_raised:
            self._is_raised = True
            raise Interrupted

    def note(self, number: int, _: FrameType | None) -> None:
        if os.getpid() != self._owner:  # a child that has just been forked
            os._exit(SIGNALLED + number)
        if self.number:
            return
        self.number = number
        kill_workers()
        import threading  # start-up

        sys.unraisablehook = _say_nothing
        threading.excepthook = _say_nothing  # those that waited for a worker complain
        self._timer = threading.Timer(_PATIENCE, self._end)
        self._timer.daemon = True
        self._timer.start()
        if not self._holders:
            self._is_raised = True
            raise Interrupted

    def _end(self) -> None:
        kill_workers()
        self.tell()
        os._exit(self.code)

    def over(self) -> None:
        """The program has ended by itself."""
        if self._timer is not None:
            import threading

            self._timer.cancel()
            sys.unraisablehook, threading.excepthook = sys.__unraisablehook__, threading.__excepthook__


_current: list[Signals] = []


def current() -> Signals:
    """The signals of the running program."""
    return _current[-1] if _current else Signals()


@contextmanager
def raised(*replaced: Callable[[int, FrameType | None], None]) -> Iterator[Signals]:
    """Inside, the first signal that asks for an end raises Interrupted, but one that is ignored or has a handler.

    `replaced` are handlers that give way.
    """
    if _current:
        yield current()
        return
    signals, before = Signals(), {}
    _current.append(signals)
    try:
        with contextlib.suppress(ValueError):  # in another thread than the first, which is the one that gets signals
            for number in _NUMBERS:
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler, *replaced):
                    before[number] = signal.signal(number, signals.note)
        yield signals
    finally:
        signals.over()
        for number, handler in before.items():
            signal.signal(number, handler)
        _current.remove(signals)


@contextmanager
def blocked() -> Iterator[None]:
    """Inside, signals wait: processes that are started here get none before `begin_worker`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker() -> None:
    """Make a worker process end with its parent, which alone answers a terminal's interrupt."""
    from threading import Thread  # start-up

    Thread(target=_end_with_parent, daemon=True).start()
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _NUMBERS)


def _end_with_parent() -> None:
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def kill_workers() -> None:
    """Kill the processes of `multiprocessing` that this process has started."""
    multiprocessing = sys.modules.get("multiprocessing")
    workers = multiprocessing.active_children() if multiprocessing is not None else []
    for act in ("kill", "join"):
        for worker in workers:
            with contextlib.suppress(OSError, ValueError, AssertionError):
                worker.kill() if act == "kill" else worker.join(_MOMENT)


def _say_nothing(_: object) -> None:
    pass
