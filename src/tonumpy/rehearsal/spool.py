"""Writes the events of a run into one file per process as they happen, and reads the files in the end.

The first event of a kind is written in full, each repetition as the number of the first. A worker that is killed loses
no events: each is on the disk at once, and the folder outlives the processes.
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
    """The error that ended a program: its type ("" for `sys.exit`), and the innermost line of the user's own code, as
    absolute path and row."""

    kind: str
    place: tuple[str, int] | None


class Run(NamedTuple):
    """The contents of all files: `files` are the user's files that were loaded, `ended` says how the program ended.

    `problems` are internal errors, which did not end the program. `children` counts the rehearsed child processes that
    imported torch; `missed` has the command and the reason of each that was not rehearsed.
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
                    case {"process": process, "is_first": is_first}:  # after `exec` the process is known already
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
            except ValueError:  # an incomplete last line, of a killed process
                break
    return found


MOST_FRAMES = 40  # kept of a stack


def _in_full(event: Event, own: int, tensor: object) -> Event:
    """The event with the fields that only the first of its kind has: the user's frame, and the names of the tensor."""
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
    """An observer that writes the events of this process, and of each fork of it, to a file.

    `is_first`: this is the process of the program itself, not a child.
    """

    def __init__(self, folder: str, *, is_first: bool = False) -> None:
        self._folder = folder
        self.before_end: Callable[[], None] = lambda: None
        self._begin(is_first=is_first)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)
        register_after_fork(self, Recorder.open)  # a fork of multiprocessing never calls `exec`
        self.open()

    def _begin(self, *, is_first: bool = False) -> None:
        self._is_first = is_first
        self._lock = threading.Lock()
        self._known: dict[tuple[object, ...], int] = {}
        self._file: int | None = None

    def open(self) -> None:
        """Create the file of this process and write its first line: that the process is rehearsed."""
        with suppress(OSError):  # the run that started it is over
            if self._file is None:
                path = os.path.join(self._folder, f"events-{os.getpid()}-{os.urandom(4).hex()}.jsonl")
                self._file = open_to_append(path)
                self._write({"process": os.getpid(), "is_first": self._is_first})

    def __call__(self, event: Event, tensor: object) -> None:
        """Record the event; an error here becomes a "problem" and never ends the program."""
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
        """Record how the program ended, and the `failure_of` its error."""
        self._write({"ended": ended, "failure": failure})

    def end(self) -> None:
        """Record the user's files that this process has loaded."""
        self.before_end()
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        own = sorted(os.path.abspath(file) for file in files if isinstance(file, str) and is_own(file))
        # Code that exits abruptly, such as a signal handler, may interrupt the holder of the lock.
        is_held = self._lock.acquire(timeout=1)
        self._write({"files": own})
        if is_held:
            self._lock.release()
