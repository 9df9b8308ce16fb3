"""Reads what the processes of a run have written: each event once, with how often it happened."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.rehearsal.events import event_of

if TYPE_CHECKING:
    from typing import Any

    from tonumpy.rehearsal.events import Event

MAX_BYTES = 1_000_000_000  # of one file


class Failure(NamedTuple):
    """The error that ended a program: its type ("" where it was `sys.exit`), the innermost line of the user's own code,
    and all those lines in its traceback, and in those of the errors that it came of: absolute path and row."""

    kind: str
    place: tuple[str, int] | None
    lines: frozenset[tuple[str, int]]


class Missed(NamedTuple):
    """A process that imported torch and was not rehearsed: its command, and why."""

    command: str
    reason: str


class Run(NamedTuple):
    """All that was written: `files` are those of the user's that were loaded, `ended` is how the program did.

    `problems` are failures of our own, which did not end the program. `children` is how many other processes with torch
    were rehearsed.
    """

    events: tuple[Event, ...]
    files: tuple[str, ...]
    ended: str
    problems: tuple[str, ...]
    failure: Failure | None = None
    children: int = 0
    missed: tuple[Missed, ...] = ()


def read_run(folder: str) -> Run:
    events: list[Event] = []
    files: set[str] = set()
    problems: dict[str, None] = {}
    processes: dict[int, bool] = {}
    missed: list[Missed] = []
    ended, failure = "", None
    for name in sorted(os.listdir(folder)):
        if name.startswith("events-"):
            first = len(events)
            for told in _lines(os.path.join(folder, name)):
                if isinstance(told, int):
                    place = first + told
                    if first <= place < len(events):
                        events[place] = events[place]._replace(times=events[place].times + 1)
                elif isinstance(told, list):
                    events.append(event_of(told))
                elif "problem" in told:
                    problems[str(told["problem"])] = None
                elif "missed" in told:
                    missed.append(Missed(*map(str, told["missed"])))
                elif "process" in told:  # one that becomes another program is known already
                    processes[told["process"]] = processes.get(told["process"], False) or told["is_first"]
                elif "files" in told:
                    files.update(told["files"])
                elif "ended" in told:
                    ended = told["ended"]
                    failure = None if told["failure"] is None else _failure(*told["failure"])
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


def _failure(kind: str, lines: list[list[Any]], place: list[Any] | None) -> Failure:
    known = frozenset((str(filename), int(row)) for filename, row in lines)
    return Failure(kind, None if place is None else (str(place[0]), int(place[1])), known)
