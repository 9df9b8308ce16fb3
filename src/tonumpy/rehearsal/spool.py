"""Reads what the processes of a run have written: each event once, with how often it happened."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.rehearsal.events import Call, Event
from tonumpy.rehearsal.holders import Holder, Parameter

if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 1_000_000_000  # of one file


class Noted(NamedTuple):
    """An event, how often it happened, and where the user's own code is in its stack (-1: nowhere).

    `is_direct`: that code itself called the tensor's method. `holders` and `parameter` are what held the tensor.
    """

    event: Event
    times: int
    own: int
    is_direct: bool
    holders: tuple[Holder, ...]
    parameter: Parameter | None


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

    noted: tuple[Noted, ...]
    files: tuple[str, ...]
    ended: str
    problems: tuple[str, ...]
    failure: Failure | None = None
    children: int = 0
    missed: tuple[Missed, ...] = ()


def read_run(folder: str) -> Run:
    noted: list[Noted] = []
    files: set[str] = set()
    problems: dict[str, None] = {}
    processes: dict[int, bool] = {}
    missed: list[Missed] = []
    ended, failure = "", None
    for name in sorted(os.listdir(folder)):
        if name.startswith("events-"):
            first = len(noted)
            for told in _lines(os.path.join(folder, name)):
                if isinstance(told, int):
                    place = first + told
                    if first <= place < len(noted):
                        noted[place] = noted[place]._replace(times=noted[place].times + 1)
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
                else:
                    noted.append(_noted(told))
    children = list(processes.values()).count(False)
    return Run(tuple(noted), tuple(sorted(files)), ended, tuple(problems), failure, children, tuple(missed))


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


def _noted(told: dict[str, Any]) -> Noted:
    event = Event(
        told["way"],
        tuple(told["reasons"]),
        told["device"],
        told["requires_grad"],
        told["is_grad_enabled"],
        told["dtype"],
        told["layout"],
        tuple(told["shape"]),
        tuple(Call(*each) for each in told["stack"]),
        None if told["error"] is None else (told["error"][0], told["error"][1]),
        told["is_handled"],
        told["about"],
    )
    parameter = told["parameter"]
    return Noted(
        event,
        1,
        told["own"],
        told["is_direct"],
        tuple(Holder(*each) for each in told["holders"]),
        None if parameter is None else Parameter(*parameter),
    )
