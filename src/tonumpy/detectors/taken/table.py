"""Reads table.json: outcomes of operators, indices, membership, keys and functions for a tensor instead of its values.
Each line was measured with the versions that it names, a tensor against the equal array. An operation is a line such as
`"a == t": "number=false tensor=false (Series)"`: the form of the tensor (`one`: of one element), the word for the
outcome, and the objects that do so. A function has a line for each parameter, `data:0 items=objects`.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import NamedTuple

from tonumpy.findings import Confidence


class Place(NamedTuple):
    """A parameter of a function, as in the tables of sinks, with the outcome for each form of a tensor."""

    name: str
    position: int | None
    outcomes: dict[str, str]


class Table(NamedTuple):
    """The outcomes for each form of a tensor, by library and operation; the objects that do so; and each function's
    parameters."""

    operations: dict[str, dict[str, dict[str, str]]]
    objects: dict[tuple[str, str], tuple[str, ...]]
    functions: dict[str, tuple[Place, ...]]


# Text and pictures are mostly meant for people.
_SELDOM_WRONG = ("text", "picture")
# Functions that read a tensor's shape if an axis is given, and answer as for an array: `np.size(t, 0)`.
OF_AXES = ("numpy.size",)
# Functions that write unknown objects as text if asked to: `json.dump(x, file, default=str)`; in the table their names
# have this ending.
WRITERS_OF_TEXT = ("dump", "dumps")
ENDING = "(default=str)"
# Their output is read again by programs; they take nested values.
WRITERS_OF_JSON = ("json", "orjson", "ujson")


@cache
def table() -> Table:
    with open(os.path.join(os.path.dirname(__file__), "table.json"), encoding="utf-8") as file:
        found = json.load(file)
    operations = {
        library: {text: _outcomes(line.partition(" (")[0].split()) for text, line in lines.items()}
        for library, lines in found["operations"].items()
    }
    objects = {
        (library, text): tuple(line.partition(" (")[2].rstrip(")").split(", "))
        for library, lines in found["operations"].items()
        for text, line in lines.items()
    }
    functions = {name: tuple(map(_place, lines)) for name, lines in found["functions"].items()}
    return Table(operations, objects, functions)


@cache
def methods() -> dict[str, dict[str, tuple[Place, ...]]]:
    """The methods of the objects of all classes, by library, then by name."""
    found: dict[str, dict[str, tuple[Place, ...]]] = {}
    for name, places in table().functions.items():
        owner, _, method = name.partition("#")
        if method:
            known = found.setdefault(owner.partition(".")[0], {})
            known[method] = (*known.get(method, ()), *places)
    return found


def confidence_in(word: str, library: str) -> Confidence:
    """How likely it is that the outcome is not the intended one."""
    return "low" if word in _SELDOM_WRONG and library not in ("csv", *WRITERS_OF_JSON) else "high"


def _place(line: str) -> Place:
    place, *ways = line.split()
    name, _, position = place.partition(":")
    return Place(name, int(position) if position else None, _outcomes(ways))


def _outcomes(ways: list[str]) -> dict[str, str]:
    pairs = (way.partition("=") for way in ways)
    return {given: word for given, _, word in pairs}
