"""Limits what the settings of a repository may cost: takes their text, then their values; ValueError for too much.

Each limit holds for all rows of the settings together, with those of the files that they extend: many rows that are
each within bounds cost as much as one that is not. What a machine may spend only the command line raises.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tonumpy.globs import expand_braces

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

MAX_BYTES = 1_000_000  # of a file
MAX_DOTS = 1_000  # in a line
_MAX_WORK = 3_000_000  # of the parts of dotted keys, which take the parser time by their square
MAX_GLOBS = 1_000  # what braces stand for included
_MAX_GLOB_CHARACTERS = 100_000
MAX_ROWS = 1_000  # of anything else: codes, habits, promises


def check_text(text: str) -> None:
    """Before it is parsed."""
    work = longest_header = 0
    for line in text.split("\n"):
        dots = line.count(".")
        if dots > MAX_DOTS:
            raise ValueError(f"a line has more than {MAX_DOTS} dots")
        if line.lstrip().startswith("["):
            longest_header = max(longest_header, dots)  # it is gone through again for each key under it
        if dots or longest_header:
            work += (longest_header + dots + 1) * (dots + 1)
            if work > _MAX_WORK:
                raise ValueError("its lines have too many dots together")


def expanded(patterns: Iterable[str]) -> list[str]:
    """All the globs that some with braces stand for."""
    found: list[str] = []
    for pattern in patterns:
        found += expand_braces(pattern)
        check_globs(found)
    return found


def check_globs(patterns: Sequence[str]) -> None:
    if len(patterns) > MAX_GLOBS:
        raise ValueError(f"more than {MAX_GLOBS} globs together")
    if sum(map(len, patterns)) > _MAX_GLOB_CHARACTERS:
        raise ValueError(f"globs of more than {_MAX_GLOB_CHARACTERS} characters together")


def check_rows(kind: str, rows: Collection[object]) -> None:
    if len(rows) > MAX_ROWS:
        raise ValueError(f"more than {MAX_ROWS} {kind} together")


def processes_of_repository(asked_for: int) -> int:
    """How many processes the settings of a repository get: not more than there are cores."""
    return min(asked_for, cores())


def cores() -> int:
    """The cores that this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
