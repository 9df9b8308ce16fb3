"""The events that the stand-in accelerator reports of a run, as frozen values; needs no torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from tonumpy.observed.sighting import Spot, What

Reason = Literal["grad", "device", "dtype", "layout", "bit", "mixed"]
Way = Literal[
    "numpy", "array", "operator", "shared write", "lost gradient", "unfinished copy", "taken for values", "no mask"
]
# Called in the converting thread, before its stack unwinds, with the tensor (or its replacement) that the program has;
# it keeps no reference to the tensor.
Observer = Callable[["Event", object], None]


class Call(NamedTuple):
    """One frame of a stack: the file by Python's name for it, and the source range that is being evaluated.

    `row` and `end_row` count from 1; `column` and `end_column` count UTF-8 bytes from 0, as `ast` does. Python 3.10
    knows only the row: the other three are None there.
    """

    filename: str
    row: int
    function: str
    end_row: int | None = None
    column: int | None = None
    end_column: int | None = None

    @property
    def spot(self) -> Spot:
        return Spot(self.row, self.end_row, self.column, self.end_column)


class Event(NamedTuple):
    """One conversion of a tensor, or a later consequence of one.

    `way`: "numpy" is a call of `.numpy()`; "array" one of `__array__` (np.asarray, a ufunc, Matplotlib); "operator"
    is an operator or function of torch that was given tensors of two devices ("mixed"), or `==` of an array and a
    tensor on the accelerator ("device"), which raises as the former does; "shared write": the array and the tensor
    share memory, and one of them was written while the other is still in use; "lost gradient": a gradient ended in
    the array; "unfinished copy": the result of an asynchronous copy from the accelerator was read before anything
    waited for it; "taken for values": the tensor was a key, or a library compared or kept it as one object; "no mask":
    the uint8 tensor that a boolean ufunc gives for a tensor was inverted, or indexed an array.

    `reasons` are all the reasons for which real hardware refuses it, in the order in which real torch checks them;
    empty if it is not refused. `error` is the type and message of real torch's first refusal.
    `is_grad_enabled`: grad mode at the call. `requires_grad` is the tensor's own, whatever the mode.
    `device` is what the program sees ("cuda:0"), `dtype` and `layout` are in torch's words ("torch.bfloat16").
    `shape` is that of the tensor. `stack` has the innermost call first, frames of tonumpy itself left out.
    `is_handled`: the error was raised, because the user's own code handles or expects it. `about`: a description of
    both tensors ("mixed"), of the place of the copy, or of what was taken for values.

    `times` is how often it happened, `own` the index in `stack` of the user's innermost frame (-1: none).
    `is_direct`: that frame itself called the tensor's method.
    """

    way: Way
    reasons: tuple[Reason, ...]
    device: str
    requires_grad: bool
    is_grad_enabled: bool
    dtype: str
    layout: str
    shape: tuple[int, ...]
    stack: tuple[Call, ...]
    error: tuple[str, str] | None = None
    is_handled: bool = False
    about: str = ""
    times: int = 1
    own: int = -1
    is_direct: bool = False
    held: tuple[tuple[str, str], ...] = ()

    @property
    def what(self) -> What:
        """The kind of sighting."""
        if self.way == "operator":
            return "mixed devices" if self.reasons == ("mixed",) else "conversion"
        return "conversion" if self.way == "numpy" or self.way == "array" else self.way

    @property
    def outcome(self) -> Literal["refused", "handled", "fragile", "passed"]:
        """The result of the conversion; "fragile": it was not refused only because grad mode was off."""
        if self.is_refused:
            return "handled" if self.is_handled else "refused"
        return "fragile" if self.requires_grad and not self.is_grad_enabled else "passed"

    @property
    def is_refused(self) -> bool:
        """True if the conversion raises on real hardware."""
        return bool(self.reasons)


def event_of(fields: list[Any]) -> Event:
    """The event whose fields were read from JSON, with its lists turned back into tuples."""
    read = Event(*fields)
    return read._replace(
        reasons=tuple(read.reasons),
        shape=tuple(read.shape),
        stack=tuple(Call(*each) for each in read.stack),
        error=None if read.error is None else (read.error[0], read.error[1]),
        held=tuple((name, kind) for name, kind in read.held),
    )
