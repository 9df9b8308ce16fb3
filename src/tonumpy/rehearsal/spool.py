"""Writes what happens in a run, event after event, into a file for each process, and reads these in the end.

The folder outlives the processes. The first event of a kind is written in full, each further one as the number of that.
A worker that ends without a word has lost nothing.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.util import register_after_fork
from typing import Any, NamedTuple

from tonumpy.boundary.output import open_to_append
from tonumpy.rehearsal.events import Event, event_of
from tonumpy.rehearsal.frames import holder_of, is_of_torch, is_own, names_of, outward


class Failure(NamedTuple):
    """The error that ended a program: its type ("" where it was `sys.exit`), and the innermost line of the user's own
    code: absolute path and row."""

    kind: str
    place: tuple[str, int] | None


class Run(NamedTuple):
    """All that was written: `files` are those of the user's that were loaded, `ended` is how the program did.

    `problems` are failures of our own, which did not end the program. `children` is how many other processes with torch
    were rehearsed, and `missed` has the commands of those that were not, and why.
    """

    events: tuple[Event, ...]
    files: tuple[str, ...]
    ended: str
    problems: tuple[str, ...]
    failure: Failure | None = None
    children: int = 0
    missed: tuple[tuple[str, str], ...] = ()


def read_run(folder: str) -> Run:
    events: list[Event] = []
    files: set[str] = set()
    problems: dict[str, None] = {}
    processes: dict[int, bool] = {}
    missed: list[tuple[str, str]] = []
    ended, failure = "", None
    for name in sorted(os.listdir(folder)):
        if name.startswith("events-"):
            first = len(events)
            for told in _lines(os.path.join(folder, name)):
                match told:
                    case int(number):
                        if first <= first + number < len(events):
                            again = events[first + number]
                            events[first + number] = again._replace(times=again.times + 1)
                    case list():
                        events.append(event_of(told))
                    case {"problem": problem}:
                        problems[str(problem)] = None
                    case {"missed": [command, reason]}:
                        missed.append((command, reason))
                    case {"process": process, "is_first": is_first}:  # what becomes another program is known already
                        processes[process] = processes.get(process, False) or is_first
                    case {"files": names}:
                        files.update(names)
                    case {"ended": ended, "failure": [kind, place]}:
                        failure = Failure(kind, None if place is None else (place[0], place[1]))
    children = list(processes.values()).count(False)
    return Run(tuple(events), tuple(sorted(files)), ended, tuple(problems), failure, children, tuple(missed))


def _lines(path: str) -> list[Any]:
    found = []
    with open(path, "rb") as stream:
        for line in stream:
            try:
                found.append(json.loads(line))
            except ValueError:  # the last one of a process that was killed
                break
    return found


MOST_FRAMES = 40  # of a stack that are kept


def _in_full(event: Event, own: int, tensor: object) -> Event:
    """The event with what only the first of its kind tells: where the user's own code is, and what holds the tensor."""
    is_direct = own >= 0 and all(is_of_torch(call.filename) for call in event.stack[:own])
    told = event._replace(stack=event.stack[: max(MOST_FRAMES, own + 1)], own=own, is_direct=is_direct)
    if own < 0 or tensor is None:
        return told
    filename = event.stack[own].filename  # its innermost frame still stands
    frame = next((each for each in outward(sys._getframe(3)) if each.f_code.co_filename == filename), None)
    held = () if frame is None else names_of(tensor, frame)
    is_unnamed = frame is not None and not held and event.way == "array" and event.is_refused
    return told._replace(held=(holder_of(tensor),) if is_unnamed else held)


class Recorder:
    """An observer of the stand-in accelerator, for this process and those that are forked from it.

    `is_first`: this is the process of the program itself, and none that it has started.
    """

    def __init__(self, folder: str, *, is_first: bool = False) -> None:
        self._folder = folder
        self.before_end: Callable[[], None] = lambda: None
        self._begin(is_first=is_first)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)
        register_after_fork(self, Recorder.open)  # what multiprocessing forks does not become another program
        self.open()

    def _begin(self, *, is_first: bool = False) -> None:
        self._is_first = is_first
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
        key = (event.stack[: own + 1] if own >= 0 else event.stack[:3], *event[:7], event.is_handled)
        told = None if key in self._known else _in_full(event, own, tensor)
        with self._lock:
            told = None if key in self._known else told
            number = self._known.setdefault(key, len(self._known))
            self._write(number if told is None else told)

    def _write(self, told: object) -> None:
        self.open()
        if self._file is not None:
            os.write(self._file, json.dumps(told, default=str).encode() + b"\n")

    def note_how(self, ended: str, failure: object) -> None:
        """How the program ended, and of which error (as frames.py has it)."""
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
