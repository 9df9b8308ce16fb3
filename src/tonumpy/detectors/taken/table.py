"""Reads what operators, indices, membership, keys and functions make of a tensor that stands for its values.

table.json says it, each line measured with the versions that it names: a tensor held against the equal array. An
operation is a line as `"a == t": "number=false tensor=false (Series)"`: what was given (`one`: a tensor of one
element), the word for what came out, and the objects that do so. A function has a line for each parameter, `data:0
items=objects`.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import NamedTuple

from tonumpy.findings import Confidence


class Place(NamedTuple):
    """A parameter of a function, as in the tables of sinks, and by what is given there what comes out."""

    name: str
    position: int | None
    outcomes: dict[str, str]


class Table(NamedTuple):
    """By library and operation, what comes out of what is given, and the objects that do so; by function, its
    parameters."""

    operations: dict[str, dict[str, dict[str, str]]]
    objects: dict[tuple[str, str], tuple[str, ...]]
    functions: dict[str, tuple[Place, ...]]


# Text and pictures are mostly meant for people.
_SELDOM_WRONG = ("text", "picture")
# Functions that ask a tensor for its shape where they are given an axis, and answer as for an array: `np.size(t, 0)`.
OF_AXES = ("numpy.size",)
# Functions that make text of the unknown where they are asked to: `json.dump(x, file, default=str)`; their names in the
# table end so.
WRITERS_OF_TEXT = ("dump", "dumps")
ENDING = "(default=str)"
# What these write is read again, by programs; they take what is nested.
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
    """By library, then by name, of the objects of all its classes."""
    found: dict[str, dict[str, tuple[Place, ...]]] = {}
    for name, places in table().functions.items():
        owner, _, method = name.partition("#")
        if method:
            known = found.setdefault(owner.partition(".")[0], {})
            known[method] = (*known.get(method, ()), *places)
    return found


def confidence_in(word: str, library: str) -> Confidence:
    """How often what comes out is not what was meant."""
    return "low" if word in _SELDOM_WRONG and library not in ("csv", *WRITERS_OF_JSON) else "high"


def _place(line: str) -> Place:
    place, *ways = line.split()
    name, _, position = place.partition(":")
    return Place(name, int(position) if position else None, _outcomes(ways))


def _outcomes(ways: list[str]) -> dict[str, str]:
    pairs = (way.partition("=") for way in ways)
    return {given: word for given, _, word in pairs}
