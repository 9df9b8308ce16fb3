"""Reads `[[tool.tonumpy.sinks]]`: functions of one's own that make arrays of arguments, or what is wrong with a row."""

from __future__ import annotations

import re

from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.promises import WrongRowError

if TYPE_CHECKING:
    from collections.abc import Callable

_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


class OwnSink(NamedTuple):
    """One row, about one function. `converts`: the positions and the names of the arguments that it makes arrays of.

    `keeps_value`: it gives of an array what it gives of a tensor, so that to convert before the call is safe.
    """

    function: str
    converts: tuple[int | str, ...]
    keeps_value: bool = False


KEYS = ("function", "converts", "keeps-value")


def read_sinks(value: object, suggest: Callable[[str], str]) -> tuple[OwnSink, ...]:
    """WrongRowError, whose text names the row, by its number from 1 and its function, and the key."""
    if not isinstance(value, list):
        raise ValueError("expected rows, [[tool.tonumpy.sinks]]")
    return tuple(each for number, row in enumerate(value, 1) for each in _read(row, number, suggest))


def _read(row: object, number: int, suggest: Callable[[str], str]) -> list[OwnSink]:
    if not isinstance(row, dict):
        raise WrongRowError(f"row {number}: expected a table, found {row!r}", number)
    place = f"row {number} ({row['function']})" if isinstance(row.get("function"), str) else f"row {number}"
    for key in row:
        if key not in KEYS:
            raise WrongRowError(f"{place}: there is no key `{key}`{suggest(key)}", number, key)
    for key in ("function", "converts"):
        if key not in row:
            raise WrongRowError(f"{place}: the key `{key}` is missing", number)
    names, converts = _listed(row["function"]), _listed(row["converts"])
    wrong = {
        "function": None
        if names and all(isinstance(name, str) and _FUNCTION.fullmatch(name) for name in names)
        else "the full name of a function, `mylib.show`",
        "converts": None if converts and all(map(_is_argument, converts)) else "positions, from 0, or names of those",
        "keeps-value": None if isinstance(row.get("keeps-value", False), bool) else "true or false",
    }
    for key, expected in wrong.items():
        if expected is not None:
            raise WrongRowError(f"{place}: {key}: expected {expected}, found {row[key]!r}", number, key)
    return [OwnSink(str(name), tuple(converts), row.get("keeps-value", False)) for name in names]


def _listed(value: object) -> list[int | str]:
    values: list[object] = value if isinstance(value, list) else [value]
    words = [each for each in values if isinstance(each, (int, str))]
    return words if len(words) == len(values) else []


def _is_argument(value: object) -> bool:
    if isinstance(value, str):
        return value.isidentifier()
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
