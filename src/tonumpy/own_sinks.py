"""Reads `[[tool.tonumpy.sinks]]`: functions of one's own that make arrays of arguments, or what is wrong with a row."""

from collections.abc import Callable
from typing import NamedTuple

from tonumpy.promises import NAME, read_row


class OwnSink(NamedTuple):
    """One row, about one function. `converts`: the positions and the names of the arguments that it makes arrays of.

    `keeps_value`: it gives of an array what it gives of a tensor, so that to convert before the call is safe.
    """

    function: str
    converts: tuple[int | str, ...]
    keeps_value: bool = False


KEYS = ("function", "converts", "keeps-value")


def read_sinks(value: object, suggest: Callable[[str], str]) -> tuple[OwnSink, ...]:
    """The sinks of some rows; ValueError, whose text names the row (from 1), its function and the key."""
    if not isinstance(value, list):
        raise ValueError("expected rows, [[tool.tonumpy.sinks]]")
    return tuple(each for number, row in enumerate(value, 1) for each in _read(row, number, suggest))


def _read(row: object, number: int, suggest: Callable[[str], str]) -> list[OwnSink]:
    said, place = read_row(row, number, KEYS, ("function", "converts"), suggest)
    names, converts = _listed(said["function"]), _listed(said["converts"])
    wrong = {
        "function": None
        if names and all(isinstance(name, str) and NAME.fullmatch(name) for name in names)
        else "the full name of a function, `mylib.show`",
        "converts": None if converts and all(map(_is_argument, converts)) else "positions, from 0, or names of those",
        "keeps-value": None if isinstance(said.get("keeps-value", False), bool) else "true or false",
    }
    for key, expected in wrong.items():
        if expected is not None:
            raise ValueError(f"{place}: {key}: expected {expected}, found {said[key]!r}")
    return [OwnSink(str(name), tuple(converts), said.get("keeps-value", False)) for name in names]


def _listed(value: object) -> list[int | str]:
    values: list[object] = value if isinstance(value, list) else [value]
    words = [each for each in values if isinstance(each, (int, str))]
    return words if len(words) == len(values) else []


def _is_argument(value: object) -> bool:
    if isinstance(value, str):
        return value.isidentifier()
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
