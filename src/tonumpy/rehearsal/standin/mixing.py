"""Reports operators that get tensors of two devices, unless real hardware accepts them.

`tensor == array` is one: torch makes a CPU tensor of the array, without NumPy. Reported is then the tensor on the
device, as a repair would move that. Both tensors are described by their names in the user's code, and by the lines
that made them or moved them to their devices.
"""

from __future__ import annotations

import sys
from itertools import takewhile
from types import CodeType, FrameType
from typing import Any

import torch

from tonumpy.rehearsal.frames import is_compiled, is_own, names_of, outward, own_frame, shown
from tonumpy.rehearsal.standin import operator_lists as lists
from tonumpy.rehearsal.standin.marks import STATE, UNKNOWN, Mark, Tensor, holder_of, mark_of
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.reporting import Reports

REFUSAL = "Expected all tensors to be on the same device, but found at least two devices, "
_BACKWARD = "_engine_run_backward"  # torch's function, on the stack while gradients are computed


class Mixing:
    """Refuses operators on tensors of two devices, as real hardware does."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports

    def patch(self, patches: Patches) -> None:
        """Patch `Tensor.__eq__` to see comparisons with arrays."""
        patches.around(Tensor, "__eq__", self._equal)

    def _equal(self, equal: Any, tensor: Any, other: Any) -> Any:
        if isinstance(other, Tensor) or not hasattr(other, "__array_interface__") or not mark_of(tensor).pretended:
            return equal(tensor, other)
        if is_compiled():
            return equal(tensor, torch.as_tensor(other).to(tensor.device))
        if other.ndim:
            error = RuntimeError(f"{REFUSAL}{mark_of(tensor).place} and cpu!")
            self._reports.refuse(tensor, "operator", ("device",), error)
        result = equal(tensor, other)
        # The repaired code compares arrays, so its result is on the CPU.
        return result.cpu() if other.ndim and isinstance(result, Tensor) else result

    def look(self, name: str, args: Any, tensors: list[Any], marks: list[Mark]) -> None:
        """Report the first tensor that an operator refuses beside the others."""
        target = next((each for each in marks if each.pretended), None)
        if target is None:
            return
        name = name.removesuffix("_out")
        off = _taken_amiss(name, args, tensors, marks, target)
        if off is None or self._is_of_a_former():
            return
        on = next(each for each, mark in zip(tensors, marks, strict=True) if mark is target)
        error = RuntimeError(f"{REFUSAL}{mark_of(on).place} and {mark_of(off).place}!")
        self._reports.refuse(off, "operator", ("mixed",), error, lambda: f"{words(on)}; and {words(off)}")

    def _is_of_a_former(self) -> bool:
        """True if the mix is in a backward pass without a frame of the user's: its forward pass was reported."""
        if not STATE.here.backward:
            return False
        for call in self._reports.stack():
            if is_own(call.filename):
                return False
            if call.function == _BACKWARD:
                return True
        return True


def _taken_amiss(name: str, args: Any, tensors: list[Any], marks: list[Mark], target: Mark) -> Any:
    """The tensor that must not lie on another device than the others; None if the operator accepts all."""
    if _takes_host(name, args, marks[0]):
        return None
    is_write = name == "__setitem__" and marks[0].pretended  # the index may lie on the CPU, the values may not
    for each, mark in zip(tensors, marks, strict=True):
        if (is_write and each is not args[2]) or (name in lists.RECURRENT and not each.is_floating_point()):
            continue
        is_counted = each.dim() or mark.pretended or name in lists.TAKES_NO_SCALAR
        if is_counted and _lies_apart(each, mark, target):
            return each
    return None


def _takes_host(name: str, args: Any, first: Mark) -> bool:
    if name == "__setitem__":
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        return not any(isinstance(each, Tensor | list) for each in index)  # a copy into a view
    return name in lists.TAKES_HOST and (name not in lists.INDEXING or first.pretended)


def _lies_apart(tensor: Any, mark: Mark, target: Mark) -> bool:
    is_known = mark is not UNKNOWN and not isinstance(tensor, _LAZY) and not tensor.is_meta
    return is_known and mark.place != target.place


_LAZY = torch.nn.parameter.UninitializedTensorMixin
_MOST_SIZES = 3


def words(tensor: Any) -> str:
    """Describe a tensor: "`target`, float32 of shape (8, 2) on cpu, made at train.py:9"."""
    frame = own_frame(1)
    name = None if frame is None else _name(tensor, frame)
    sizes = "" if tensor.dim() > _MOST_SIZES else f" of shape {tuple(tensor.shape)}"
    what = f"{str(tensor.dtype).removeprefix('torch.')}{sizes} on {tensor.device}"
    origin: tuple[str, CodeType, int] | None = getattr(holder_of(tensor), "origin", None)
    where = ""
    if origin is not None:
        how, code, instruction = origin
        rows = (row for first, last, row in code.co_lines() if first <= instruction < last)
        where = f", {how} at {shown(code.co_filename, next(rows, None) or code.co_firstlineno)}"
    return f"`{name}`, {what}{where}" if name else f"{what}{where}"


def _name(tensor: Any, frame: FrameType) -> str | None:
    """The name of a tensor in the user's frame; of a parameter or buffer, that in its module: "Linear.weight"."""
    held = next((name for name, kind in names_of(tensor, frame) if kind == "itself"), None)
    if held is not None:
        return held
    for inner in takewhile(lambda each: each is not frame, outward(sys._getframe(1))):
        owner = inner.f_locals.get("self")
        if isinstance(owner, torch.nn.Module):
            for name, value in (owner._parameters | owner._buffers).items():
                if value is tensor:
                    return f"{type(owner).__name__}.{name}"
    return None
