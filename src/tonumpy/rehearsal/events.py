"""The events that the stand-in accelerator reports of a run: one frozen value each, without torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from tonumpy.observed.sighting import Spot, What

Reason = Literal["grad", "device", "dtype", "layout", "bit", "mixed"]
Way = Literal[
    "numpy", "array", "operator", "shared write", "lost gradient", "unfinished copy", "taken for values", "no mask"
]
# Called while the stack still stands, in the thread that converts, with the tensor (or what is in its place) as the
# program has it; it keeps no reference to it.
Observer = Callable[["Event", object], None]


class Call(NamedTuple):
    """One frame of a stack: the file as Python knows it, and the part of its text that is being evaluated.

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
    """One conversion of a tensor as it happened, or what came of one later.

    `way`: "numpy" is a call of `.numpy()`; "array" one of `__array__` (np.asarray, a ufunc, Matplotlib); "operator"
    is an operator or function of torch that was given tensors of two devices ("mixed"), or `==` of an array and a
    tensor on the accelerator ("device"), which raises as the former does; "shared write": the array and the tensor
    share memory, and one of them was written while the other is still in use; "lost gradient": a gradient ended in
    the array; "unfinished copy": what an asynchronous copy from the accelerator gave was read before anything waited
    for it; "taken for values": it was a key, or was compared or kept by a library as one object; "no mask": the
    uint8 that a boolean ufunc gives for a tensor was inverted, or was the index of an array.

    `reasons` are all the reasons for which real hardware refuses it, in the order in which real torch checks them;
    empty where it is not refused. `error` is the type and the message of the first refusal as real torch gives it.
    `is_grad_enabled`: grad mode, at the moment of the call. `requires_grad` is the tensor's own, whatever the mode.
    `device` is what the program sees ("cuda:0"), `dtype` and `layout` are in torch's words ("torch.bfloat16").
    `shape` is that of the tensor. `stack` has the innermost call first, frames of tonumpy itself left out.
    `is_handled`: it was raised, as the user's own code makes it good, or asks for it. `about`: where two tensors met,
    both of them in words, or where the copy was made, or what was taken for values.

    `times` is how often it happened, `own` where the user's own code is in its stack (-1: nowhere). `is_direct`: that
    code itself called the tensor's method.
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
        """The sort of sighting that it is."""
        if self.way == "operator":
            return "mixed devices" if self.reasons == ("mixed",) else "conversion"
        return "conversion" if self.way == "numpy" or self.way == "array" else self.way

    @property
    def outcome(self) -> Literal["refused", "handled", "fragile", "passed"]:
        """What came of it; "fragile": nothing was refused, but only because grad mode was off."""
        if self.is_refused:
            return "handled" if self.is_handled else "refused"
        return "fragile" if self.requires_grad and not self.is_grad_enabled else "passed"

    @property
    def is_refused(self) -> bool:
        """True if the conversion raises on real hardware."""
        return bool(self.reasons)


def event_of(fields: list[Any]) -> Event:
    """The event whose fields were written as JSON, which knows no tuples."""
    read = Event(*fields)
    return read._replace(
        reasons=tuple(read.reasons),
        shape=tuple(read.shape),
        stack=tuple(Call(*each) for each in read.stack),
        error=None if read.error is None else (read.error[0], read.error[1]),
        held=tuple((name, kind) for name, kind in read.held),
    )
