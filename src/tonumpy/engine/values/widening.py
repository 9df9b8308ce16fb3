"""Widening of nested values: from a value to one of bounded size, by forgetting what a container holds.

`x = [x, x]`, said twenty times, is a list that holds a million lists, though only twenty are ever made; so is what a
container becomes that is put into itself under a key that is not known; and lists may be in one another a hundred deep.
Whatever looks into a value goes through all that it holds, so what a name is bound to is kept small.
"""

from __future__ import annotations

from tonumpy.engine.values.evidence import cut_off
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import evidence_in, left_open, parts_of, tensor_facts
from tonumpy.engine.values.values import Instance, LibraryObject, Mapping, Sequence, Union, Unknown, Value

MAX_REPEATS = 500  # of values that are held more than once, each counted with all that it holds
MAX_HELD = 50_000
MAX_DEPTH = 20  # of containers in one another
MAX_KEYS = 128  # of a dict that are told apart where they are written one by one; the others are as one

_TOO_LARGE = cut_off("size", "its container is too large", "", 0)
_HOLDERS = frozenset((Sequence, Mapping, Union, LibraryObject, Instance))


def widened(value: Value) -> Value:
    """The value, without its parts if it is too large. A large table of different things stays as it is; only what is
    held repeatedly counts."""
    if type(value) not in _HOLDERS or not _is_too_large(value):
        return value
    return without_parts(value)


def holds_containers(value: Value) -> bool:
    """True if a container is among the value's parts."""
    parts = parts_of(value) if isinstance(value, (Sequence, Mapping)) else ()
    return any(isinstance(part, (Sequence, Mapping, Union)) for part in parts)


def without_parts(value: Value) -> Value:
    """The value, with its parts joined into one unknown value."""
    if isinstance(value, (Instance, LibraryObject)):
        return value._replace(arguments=None)
    part = left_open(Unknown(Reason.CUT_SHORT, *tensor_facts(value), evidence=evidence_in(value)), _TOO_LARGE)
    if isinstance(value, Sequence):
        return Sequence(None, part)
    return Mapping((), part) if isinstance(value, Mapping) else part


def is_full(value: Value) -> bool:
    """True for a dict with so many keys that no more are told apart."""
    return isinstance(value, Mapping) and len(value.entries) >= MAX_KEYS


def with_entry(mapping: Mapping, key: object, value: Value) -> Mapping:
    """A dict after `d[key] = value`. A large display stays as it is; what is written to one further counts as one."""
    kept = [(name, entry) for name, entry in mapping.entries if name != key]
    if len(kept) == len(mapping.entries) >= MAX_KEYS:
        return Mapping(mapping.entries, join(mapping.other, value))
    return Mapping((*kept, (key, value)), mapping.other)


def _is_too_large(value: Value) -> bool:
    seen: set[int] = set()
    repeats = 0
    waiting: list[tuple[Value, int]] = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        if depth > MAX_DEPTH:
            return True
        if id(each) in seen:
            repeats += 1
            if repeats > MAX_REPEATS:
                return True
        elif len(seen) > MAX_HELD:
            return True
        seen.add(id(each))
        if isinstance(each, Union):
            waiting += [(part, depth) for part in each.members if type(part) in _HOLDERS]
        elif isinstance(each, (Sequence, Mapping)):
            waiting += [(part, depth + 1) for part in parts_of(each) if type(part) in _HOLDERS]
        elif isinstance(each, (LibraryObject, Instance)) and each.arguments is not None:
            waiting += [(part, depth) for part in each.arguments.values() if type(part) in _HOLDERS]
    return False
