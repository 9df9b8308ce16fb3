"""Reads the settings about the user's own functions: `[[tool.tonumpy.promises]]`, what they return, and
`[[tool.tonumpy.sinks]]`, which arguments they convert to arrays. ValueError says what is wrong with a row."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tonumpy.suggestions import shown, suggestion

# The words of the libraries' rows (engine/knowledge/libraries) that need no library.
RETURNS = re.compile(r"tensor|sequence|mapping|pairs|optionals|none|self|first|second|unknown|tuple:\d|plain:[\w ]+")
DEVICES = ("cpu", "accelerator", "first", "inputs", "self", "both", "argument", "given", "unknown")
GRADS = ("never", "first", "inputs", "self", "both", "unknown")
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
_READABLE = (
    '"tensor", "sequence", "mapping", "pairs", "optionals", "tuple:2", "plain:WHAT", "none", "first", "second", "self"'
)


class OwnPromise(NamedTuple):
    """One row about one function, with the keys of the libraries' rows."""

    function: str
    returns: tuple[str, ...]
    device: str = "unknown"
    grad: str = "unknown"
    dtype: str | None = None
    position: int | None = None
    keyword: str = "device"
    source: str = ""


class OwnSink(NamedTuple):
    """One row about one function. `converts`: the positions and names of the arguments that it converts to arrays.

    `keeps_value`: it returns the same for an array as for a tensor, so converting before the call is safe.
    """

    function: str
    converts: tuple[int | str, ...]
    keeps_value: bool = False


def read_promises(value: object, is_dtype: Callable[[str], bool]) -> tuple[OwnPromise, ...]:
    """The promises in the rows; ValueError names the row (from 1), its function and the key."""
    tests: dict[str, tuple[Callable[[Any], bool], str]] = {
        "returns": (lambda said: _all(_listed(said), _matching(RETURNS)), f"one or several of {_READABLE}"),
        "device": (DEVICES.__contains__, " or ".join(DEVICES)),
        "grad": (lambda said: said is False or said in GRADS, " or ".join(("false", *GRADS))),
        "dtype": (
            lambda said: isinstance(said, str) and (said in ("first", "self") or is_dtype(said)),
            "the name of a dtype of torch, first or self",
        ),
        "position": (_is_position, "the position of an argument, from 0"),
        "keyword": (lambda said: isinstance(said, str), "the name of an argument"),
        "source": (lambda said: isinstance(said, str), "a text"),
    }
    found = []
    for names, row in _rows(value, "promises", tests, "returns"):
        row["returns"] = tuple(_listed(row["returns"]))
        row["grad"] = "never" if row.get("grad") is False else row.get("grad", "unknown")
        found += [OwnPromise(name, **row) for name in names]
    return tuple(found)


def read_sinks(value: object) -> tuple[OwnSink, ...]:
    """The sinks in the rows; ValueError names the row (from 1), its function and the key."""
    tests: dict[str, tuple[Callable[[Any], bool], str]] = {
        "converts": (lambda said: _all(_listed(said), _is_argument), "positions, from 0, or names of those"),
        "keeps-value": (lambda said: isinstance(said, bool), "true or false"),
    }
    found = []
    for names, row in _rows(value, "sinks", tests, "converts"):
        converts, keeps_value = tuple(_listed(row["converts"])), row.get("keeps-value", False)
        found += [OwnSink(name, converts, keeps_value) for name in names]
    return tuple(found)


def _rows(
    value: object, table: str, tests: dict[str, tuple[Callable[[Any], bool], str]], needed: str
) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Yield the functions of each row, and its other keys with validated values."""
    if not isinstance(value, list):
        raise ValueError(f"expected rows, [[tool.tonumpy.{table}]]")
    named = {
        "function": (lambda said: _all(_listed(said), _matching(_NAME)), "the full name of a function, `mylib.load`")
    }
    tests = named | tests
    for number, row in enumerate(value, 1):
        if not isinstance(row, dict):
            raise ValueError(f"row {number}: expected a table, found {row!r}")
        place = f"row {number} ({row['function']})" if isinstance(row.get("function"), str) else f"row {number}"
        for key in row:
            if key not in tests:
                raise ValueError(f"{place}: there is no key `{key}`{suggestion(key, [*tests])}")
        for key in ("function", needed):
            if key not in row:
                raise ValueError(f"{place}: the key `{key}` is missing")
        for key, (is_right, expected) in tests.items():
            if key in row and not is_right(row[key]):
                raise ValueError(f"{place}: {key}: expected {expected}, found {shown(row[key])}")
        yield _listed(row["function"]), {key: said for key, said in row.items() if key != "function"}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _all(values: Sequence[object], test: Callable[[Any], bool]) -> bool:
    return bool(values) and all(isinstance(each, (int, str)) and test(each) for each in values)


def _matching(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda word: isinstance(word, str) and pattern.fullmatch(word) is not None


def _is_argument(value: object) -> bool:
    return value.isidentifier() if isinstance(value, str) else _is_position(value)


def _is_position(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
