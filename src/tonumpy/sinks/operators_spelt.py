"""From a text, without a parse, to the places of operations in which an array and a tensor may meet.

By spelling alone: one side is a name, or an attribute, that somewhere in the text is given what NumPy makes or
`.numpy()` gives, or that is annotated as an array, or such a call itself.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

_IMPORT = re.compile(r"^[ \t]*import[ \t]+numpy(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
_ANNOTATED = re.compile(r"(\w+)[ \t]*:[ \t\"']*(?:Optional\[)?(?:\w+\.)?$")
_GIVEN = re.compile(r"[ \t]*((?:\w+\.)*)(\w+)[ \t]*(?::[^=]*)?=(?!=)")
# What is no array, and is found very often.
_REDUCED = re.compile(r"\.(?:max|mean|min|sum|item|tolist)\(\)\)*[ \t]*(?:#|$)")
_PART = r"(?:\.\w+|\[[^\[\]\n]*\]|\([^()\n]*\))"
_BEHIND = re.compile(rf"{_PART}*(?:[ \t]*(?:[-+*/%@&|^<>]|[=!]=)|(?<=\])[ \t]*=)")
_KEYED = re.compile(r"[ \t]*\[[-:.\d, \t]*[\[~A-Za-z_]")
# One that is selected from after a method that keeps its values: `boxes.reshape(1, 4)[keep]`.
_SELECTED = re.compile(r"\.(?:reshape|copy|astype|ravel)\([^()\n]*\)\[[A-Za-z_~]")
_BEFORE = re.compile(r"[-+*/%@&|^<>=][ \t]*\(?[\w.\[\]()]*$")
_OPERATORS = frozenset("-+*/%@&|^<>!")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")
_ASSIGNED_TO = _OPERATORS | {"=", "]"}
_PARTS = frozenset((".", "(", "[", "="))
_NUMPY = ".numpy("
MAX_LINE = 1_000  # characters before and behind a place that are looked at: a line may be as long as the file


class Spelt(NamedTuple):
    """`names` are those of arrays, `attributes` those that hold some, with a dot; `modules` what NumPy is called."""

    places: list[int]
    names: frozenset[str]
    attributes: frozenset[str]
    modules: frozenset[str]


def operations_spelt(text: str) -> Spelt:
    """The offsets of such operations, and the names by which they were found."""
    modules = frozenset(match[1] or "numpy" for match in _IMPORT.finditer(text))
    calls = {maker: _places(text, maker) for maker in (_NUMPY, *(f"{module}." for module in modules))}
    given = {name for places in calls.values() for place in places if (name := _name_given(text, place))}
    given |= {name for place in _places(text, "ndarray") if (name := _name_annotated(text, place))}
    attributes = frozenset(name for name in given if name.startswith("."))
    found = [place for place in calls.pop(_NUMPY) if _is_result_used(text, place)]
    for maker, places in calls.items():
        found += [place for place in places if _is_operand(text, place, _bracket(text, place + len(maker)))]
    for name in given:
        found += _operands_called(text, name)
    return Spelt(found, frozenset(given - attributes), attributes, modules)


def _places(text: str, word: str) -> list[int]:
    pieces = text.split(word)
    size = len(word)
    return [end + number * size for number, end in enumerate([*accumulate(map(len, pieces))][:-1])]


def _operands_called(text: str, name: str) -> list[int]:
    """Where a name stands as a word of its own, and is an operand; most places are ruled out without a call."""
    pieces = text.split(name)
    size, is_attribute = len(name), name[0] == "."
    found = []
    for number, (end, before, after) in enumerate(zip(accumulate(map(len, pieces)), pieces, pieces[1:], strict=False)):
        if after[:1] in _WORD or (not is_attribute and (before[-1:] in _WORD or before[-1:] == ".")):
            continue
        place = end + number * size
        if _is_operand(text, place, place + size):
            found.append(place)
    return found


def _name_given(text: str, place: int) -> str | None:
    """The name that a line gives what stands in it."""
    match = _GIVEN.match(text, _line_start(text, place), place)
    if match is None:
        return None
    stop = text.find("\n", place, place + MAX_LINE)
    if _REDUCED.search(text, place, stop if stop != -1 else place + MAX_LINE):
        return None
    return f".{match[2]}" if match[1] else match[2]


def _bracket(text: str, start: int) -> int:
    return text.find("(", start, start + MAX_LINE)


def _line_start(text: str, place: int) -> int:
    """Where its line begins, or as far before it as is looked at."""
    first = max(0, place - MAX_LINE)
    found = text.rfind("\n", first, place)
    return first if found == -1 else found + 1


def _name_annotated(text: str, place: int) -> str | None:
    match = _ANNOTATED.search(text, _line_start(text, place), place)
    return None if match is None else match[1]


def _is_result_used(text: str, place: int) -> bool:
    """True if an operator stands before or behind a call of `.numpy()`."""
    is_before = _BEFORE.search(text, _line_start(text, place), place) is not None
    return is_before or _BEHIND.match(text, place) is not None


def _is_operand(text: str, start: int, end: int) -> bool:
    """True if an operator stands beside a word, or it is indexed by more than a number, or put into something."""
    if text[start] == ".":
        start = text.rfind(" ", max(0, start - MAX_LINE), start) + 1
    before = text[start - 4 : start].rstrip() if start > 4 else ""
    last, after = before[-1:], text[end : end + 1]
    if after == " ":
        after = text[end + 1 : end + 2]
    if after in _OPERATORS or last in _OPERATORS:
        return True
    if last == "=" and (before[-2:-1] in _ASSIGNED_TO or before[-3:] == "] ="):
        return True
    if after == "[" and _KEYED.match(text, end) is not None:
        return True
    is_selected = after == "." and _SELECTED.match(text, end) is not None
    return is_selected or (after in _PARTS and _BEHIND.match(text, end) is not None)
