"""Finds what holds a tensor at the moment when it is converted: names of the user's code, and a parameter of a
library."""

from __future__ import annotations

import gc
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import CodeType, FrameType
    from typing import Literal

    Kind = Literal["itself", "items", "values"]  # it is the tensor, or a list or dict that has it
    # As the code writes it: `losses`, `self.losses`, `batch['x']`; "" for what has no name there.
    Name = tuple[str, Kind]

_MOST = 2_000  # items of a list, or attributes, that are looked at
_MOST_SEARCHES = 200  # among all objects of Python, which takes some 30 ms each time
_DEPTH = 2  # of `batch["events"]["lengths"]`
_LISTS = (list, tuple, set, frozenset, deque)
_TABLES = ("_parameters", "_buffers")  # where a torch.nn.Module keeps what reads as its attributes


def names_of(tensor: object, frame: FrameType) -> tuple[Name, ...]:
    """The names in a frame that hold a tensor, and the attributes of what they hold."""
    found: list[Name] = []
    keys = frame.f_code.co_consts
    for name, value in _names(frame):
        kind = _kind(value, tensor)
        if kind is not None:
            found.append((name, kind))
            if kind == "itself":
                continue
        found += _of_items(name, value, tensor, keys)
        for attribute, held in _attributes(value, frame.f_code.co_names):
            kind = _kind(held, tensor)
            if kind is not None:
                found.append((f"{name}.{attribute}", kind))
            found += _of_items(f"{name}.{attribute}", held, tensor, keys)
    return tuple(found)


class Search:
    """Looks for what holds a tensor that no name holds: a list that a call has just given, or nothing at all."""

    def __init__(self) -> None:
        self._left = _MOST_SEARCHES

    def holder(self, tensor: object) -> tuple[Name, ...]:
        """The names that hold the converted tensor itself, where no list or dict has it."""
        if not self._left:
            return ()
        self._left -= 1
        kinds = {type(each) for each in gc.get_referrers(tensor)}
        return (("", "items" if kinds & {*_LISTS} else "values" if dict in kinds else "itself"),)


def _of_items(name: str, value: object, tensor: object, keys: Collection[object], depth: int = 1) -> list[Name]:
    """The items that the code names by a constant: `batch["x"]`, `pair[0]`."""
    if type(value) not in (dict, list, tuple) or len(value) > _MOST:  # type: ignore[arg-type]
        return []
    pairs = value.items() if type(value) is dict else enumerate(value)  # type: ignore[arg-type]
    found: list[Name] = []
    for key, item in pairs:
        if type(key) not in (str, int) or key not in keys:
            continue
        kind = _kind(item, tensor)
        if kind is not None:
            found.append((f"{name}[{key!r}]", kind))
        if depth < _DEPTH:
            found += _of_items(f"{name}[{key!r}]", item, tensor, keys, depth + 1)
    return found


def parameter_of(tensor: object, frame: FrameType) -> tuple[str, int | None, Kind] | None:
    """The parameter of a function that has just been called, and its place among the arguments of the call, if it has
    one; None where none holds the tensor."""
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount]
    others = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount :]
    has_rest, has_named = bool(code.co_flags & 0x04), bool(code.co_flags & 0x08)
    given = values.get(rest[0]) if has_rest and rest else ()
    positional = [(name, values.get(name)) for name in names]
    positional += [(f"*{rest[0]}", value) for value in given] if isinstance(given, tuple) and rest else []
    bound = int(bool(positional) and _is_bound(code, *positional[0]))
    for position, (name, value) in enumerate(positional[bound:]):
        kind = _kind(value, tensor)
        if kind is not None:
            return name, position, kind
    named = values.get(rest[int(has_rest)]) if has_named and len(rest) > int(has_rest) else {}
    keywords = [(name, values.get(name)) for name in others] + (list(named.items()) if type(named) is dict else [])
    for name, value in keywords:
        kind = _kind(value, tensor)
        if kind is not None:
            return name, None, kind
    return None


def _names(frame: FrameType) -> Iterator[tuple[str, object]]:
    local = frame.f_locals
    yield from list(local.items())[:_MOST] if local is not frame.f_globals else ()
    for name in frame.f_code.co_names:
        if name in frame.f_globals and (local is frame.f_globals or name not in local):
            yield name, frame.f_globals[name]


def _attributes(value: object, names: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    """Without calling anything of the object's own; only those that the code names."""
    held = getattr(value, "__dict__", None) if type(value).__module__ != "builtins" else None
    if type(held) is not dict or len(held) > _MOST:
        return
    tables = [held, *(held[table] for table in _TABLES if type(held.get(table)) is dict)]
    for table in tables:
        for name in names:
            if name in table:
                yield name, table[name]


def _kind(value: object, tensor: object) -> Kind | None:
    """By identity alone: a tensor's `==` would be another operator of torch."""
    if value is tensor:
        return "itself"
    if type(value) in (list, tuple) and len(value) <= _MOST:  # type: ignore[arg-type]
        return "items" if any(each is tensor for each in value) else None  # type: ignore[attr-defined]
    if type(value) is dict and len(value) <= _MOST:
        return "values" if any(each is tensor for each in value.values()) else None
    return None


def _is_bound(code: CodeType, name: str, value: object) -> bool:
    """True if the first argument is the object that a method was called on, which no call writes."""
    if name in ("self", "cls"):
        return True
    return any(
        getattr(each, "__code__", None) is code for owner in type(value).__mro__ for each in list(vars(owner).values())
    )
