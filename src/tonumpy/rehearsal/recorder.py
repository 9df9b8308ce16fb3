"""Writes what happens in a run, event after event, into a file for each process, in a folder that outlives them.

The first event of a kind is written in full, each further one as the number of that. A worker that ends without a
word has lost nothing.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import suppress
from multiprocessing.util import register_after_fork
from typing import TYPE_CHECKING

from tonumpy.boundary.output import open_to_append
from tonumpy.observed.sighting import NOT_HELD, Held
from tonumpy.rehearsal.holders import Search, names_of, parameter_of
from tonumpy.rehearsal.own_code import is_of_torch, is_own

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from tonumpy.rehearsal.events import Event

MOST_FRAMES = 40  # of a stack that are kept

# Stands between a call of a method of pandas and the method.
_AROUND_LIBRARIES = os.path.join(os.path.dirname(__file__), "standin", "values_in_libraries.py")


class Recorder:
    """An observer of the stand-in accelerator, for this process and those that are forked from it.

    `is_first`: this is the process of the program itself, and none that it has started.
    """

    def __init__(self, folder: str, *, is_first: bool = False) -> None:
        self._folder = folder
        self._is_first = is_first
        self._search = Search()
        self.before_end: Callable[[], None] = lambda: None
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_in_fork)
        register_after_fork(self, Recorder.open)  # what multiprocessing forks does not become another program
        self.open()

    def _begin_in_fork(self) -> None:
        self._is_first = False
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[object, ...], int] = {}
        self._file: int | None = None

    def open(self) -> None:
        """Begin the file of this process, which tells that it was rehearsed."""
        with suppress(OSError):  # the run that started it is over
            if self._file is None:
                path = os.path.join(self._folder, f"events-{os.getpid()}-{os.urandom(4).hex()}.jsonl")
                self._file = open_to_append(path)
                self._write({"process": os.getpid(), "is_first": self._is_first})

    def __call__(self, event: Event, tensor: object) -> None:
        """Must not end the program, whatever happens here."""
        try:
            self._note(event, tensor)
        except Exception as error:
            self._write({"problem": f"{type(error).__name__}: {error}"})

    def _note(self, event: Event, tensor: object) -> None:
        own = next((number for number, call in enumerate(event.stack) if is_own(call.filename)), -1)
        seen = event.stack[: own + 1] if own >= 0 else event.stack[:3]
        key = (seen, *event[:7], event.is_handled)
        with self._lock:
            number = self._known.get(key)
            if number is not None:
                self._write(number)
                return
        told = event._replace(
            stack=event.stack[: max(MOST_FRAMES, own + 1)],
            own=own,
            is_direct=own >= 0 and all(is_of_torch(call.filename) for call in event.stack[:own]),
        )
        if own >= 0 and tensor is not None:
            told = told._replace(held=self._held(event, tensor, event.stack[own].filename))
        with self._lock:
            number = self._known.setdefault(key, len(self._known))
            self._write(told if number == len(self._known) - 1 else number)

    def _write(self, told: object) -> None:
        self.open()
        if self._file is not None:
            os.write(self._file, json.dumps(told, default=str).encode() + b"\n")

    def note_how(self, ended: str, failure: object) -> None:
        """How the program ended, and of which error (as own_code.py has it)."""
        self._write({"ended": ended, "failure": failure})

    def end(self) -> None:
        """Which files of the user's this process has loaded."""
        self.before_end()
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        own = sorted(os.path.abspath(file) for file in files if isinstance(file, str) and is_own(file))
        # Whoever leaves in the midst of things, as from a handler of a signal, may hold the lock.
        is_held = self._lock.acquire(timeout=1)
        self._write({"files": own})
        if is_held:
            self._lock.release()

    def _held(self, event: Event, tensor: object, filename: str) -> Held:
        """By whom, in the innermost frame of a file that still stands, and in the one that it called."""
        inner: FrameType | None = None
        frame: FrameType | None = sys._getframe(3)
        while frame is not None and frame.f_code.co_filename != filename:
            inner = inner if frame.f_code.co_filename == _AROUND_LIBRARIES else frame
            frame = frame.f_back
        if frame is None:
            return NOT_HELD
        names, parameter = names_of(tensor, frame), None
        if inner is not None and not is_of_torch(inner.f_code.co_filename):
            parameter = parameter_of(tensor, inner)
        if event.way == "array" and event.is_refused and parameter is None and not names:
            names = self._search.holder(tensor)
        return Held(names, parameter)
