"""The limit on what one value holds: values are hashed and compared whole, and `y = [y, y]` doubles them each time."""

from __future__ import annotations

from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import cut_off
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import left_open, parts_of

MAX_SIZE = 100_000  # values in one, each counted as often as it is held
_MAX_NESTING = 40
_HOLDERS = (v.Sequence, v.Mapping, v.Union, v.Instance, v.LibraryObject, v.BoundMethod)
_TOO_LARGE = left_open(
    v.Unknown(Reason.CUT_SHORT), cut_off("size", f"it holds more than {MAX_SIZE:,} other values", "", 0)
)


def bounded(value: v.Value) -> v.Value:
    """The value, or Unknown if it holds more than MAX_SIZE values."""
    if not isinstance(value, _HOLDERS) or _size(value, {}, 0) <= MAX_SIZE:
        return value
    return _TOO_LARGE


def _size(value: v.Value, known: dict[int, int], nesting: int) -> int:
    """How many values a walk through the value passes; more than MAX_SIZE where it is nested too deeply."""
    if not isinstance(value, _HOLDERS):
        return 1
    size = known.get(id(value))
    if size is None:
        if nesting == _MAX_NESTING:
            return MAX_SIZE + 1
        size = 1
        for part in _held_by(value):
            size += _size(part, known, nesting + 1)
            if size > MAX_SIZE:
                break
        known[id(value)] = size
    return size


def _held_by(value: v.Value) -> tuple[v.Value, ...]:
    if isinstance(value, (v.Sequence, v.Mapping, v.Union)):
        return parts_of(value)
    if isinstance(value, v.BoundMethod):
        return (value.receiver,)
    arguments: v.Arguments | None = getattr(value, "arguments", None)
    return () if arguments is None else (*arguments.values(), arguments.starred)
