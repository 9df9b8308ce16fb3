"""Reads `[[tool.tonumpy.promises]]`: what functions of one's own code give, or what is wrong with a row."""

import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

# The words of the libraries' rows (engine/knowledge/libraries) that say something without a library.
RETURNS = re.compile(r"tensor|sequence|mapping|pairs|optionals|none|self|first|second|unknown|tuple:\d|plain:[\w ]+")
DEVICES = ("cpu", "accelerator", "first", "inputs", "self", "both", "argument", "given", "unknown")
GRADS = ("never", "first", "inputs", "self", "both", "unknown")
NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


class OwnPromise(NamedTuple):
    """One row, about one function: the keys mean what they mean in the libraries' rows."""

    function: str
    returns: tuple[str, ...]
    device: str = "unknown"
    grad: str = "unknown"
    dtype: str | None = None
    position: int | None = None
    keyword: str = "device"
    source: str = ""


KEYS = OwnPromise._fields


def read_promises(
    value: object, is_dtype: Callable[[str], bool], suggest: Callable[[str], str]
) -> tuple[OwnPromise, ...]:
    """The promises of some rows; ValueError, whose text names the row (from 1), its function and the key."""
    if not isinstance(value, list):
        raise ValueError("expected rows, [[tool.tonumpy.promises]]")
    return tuple(each for number, row in enumerate(value, 1) for each in _read(row, number, is_dtype, suggest))


def read_row(
    row: object, number: int, keys: Collection[str], needed: Collection[str], suggest: Callable[[str], str]
) -> tuple[dict[str, Any], str]:
    """A row that has the needed keys and no others than these, and how messages name it; ValueError."""
    if not isinstance(row, dict):
        raise ValueError(f"row {number}: expected a table, found {row!r}")
    place = f"row {number} ({row['function']})" if isinstance(row.get("function"), str) else f"row {number}"
    for key in row:
        if key not in keys:
            raise ValueError(f"{place}: there is no key `{key}`{suggest(key)}")
    for key in needed:
        if key not in row:
            raise ValueError(f"{place}: the key `{key}` is missing")
    return row, place


def _read(row: object, number: int, is_dtype: Callable[[str], bool], suggest: Callable[[str], str]) -> list[OwnPromise]:
    said, place = read_row(row, number, KEYS, ("function", "returns"), suggest)
    names, returns = _listed(said["function"]), _listed(said["returns"])
    wrong = {
        "function": None if names and all(map(NAME.fullmatch, names)) else "the full name of a function, `mylib.load`",
        "returns": None if returns and all(map(RETURNS.fullmatch, returns)) else f"one or several of {_READABLE}",
        "device": _unless(said.get("device", "unknown") in DEVICES, DEVICES),
        "grad": _unless(said.get("grad") is False or said.get("grad", "unknown") in GRADS, ("false", *GRADS)),
        "dtype": None
        if _is_dtype(said.get("dtype", "int64"), is_dtype)
        else "the name of a dtype of torch, first or self",
        "position": None if _is_position(said.get("position", 0)) else "the position of an argument, from 0",
        "keyword": None if isinstance(said.get("keyword", ""), str) else "the name of an argument",
        "source": None if isinstance(said.get("source", ""), str) else "a text",
    }
    for key, expected in wrong.items():
        if expected is not None:
            raise ValueError(f"{place}: {key}: expected {expected}, found {_shown(said[key])}")
    kept = {key: said[key] for key in ("device", "dtype", "position", "keyword", "source") if key in said}
    grad = said.get("grad", "unknown")
    return [OwnPromise(name, tuple(returns), **kept, grad="never" if grad is False else grad) for name in names]


_READABLE = (
    '"tensor", "sequence", "mapping", "pairs", "optionals", "tuple:2", "plain:WHAT", "none", "first", "second", "self"'
)


def _listed(value: object) -> list[str]:
    values: list[object] = value if isinstance(value, list) else [value]
    texts = [each for each in values if isinstance(each, str)]
    return texts if len(texts) == len(values) else []


def _unless(is_right: bool, words: tuple[str, ...]) -> str | None:
    return None if is_right else " or ".join(words)


def _is_dtype(value: object, is_dtype: Callable[[str], bool]) -> bool:
    return isinstance(value, str) and (value in ("first", "self") or is_dtype(value))


def _is_position(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else repr(value)
