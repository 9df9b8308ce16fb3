"""Reports operators that are given tensors of two devices, unless real hardware takes them.

`tensor == array` is one: torch makes a tensor on the CPU of the array, without asking NumPy. What is reported there is
the tensor on the device, as it is what a repair would move.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin import operator_lists as lists
from tonumpy.rehearsal.standin import origins
from tonumpy.rehearsal.standin.current_step import is_compiled
from tonumpy.rehearsal.standin.marks import Tensor, mark_of
from tonumpy.rehearsal.standin.reporting import event, guarded
from tonumpy.rehearsal.standin.state import STATE, UNKNOWN

if TYPE_CHECKING:
    from tonumpy.rehearsal.events import Observer, Reason
    from tonumpy.rehearsal.standin.handlers import Handlers
    from tonumpy.rehearsal.standin.patches import Patches
    from tonumpy.rehearsal.standin.reporting import Stacks
    from tonumpy.rehearsal.standin.state import Mark

REFUSAL = "Expected all tensors to be on the same device, but found at least two devices, "
_BACKWARD = "_engine_run_backward"  # torch's own function, which stands on the stack while gradients are computed


class Mixing:
    """Refuses what real hardware refuses."""

    def __init__(self, observer: Observer, stacks: Stacks, handlers: Handlers, *, stop: bool) -> None:
        self._handlers = handlers
        self._observer = observer
        self._stacks = stacks
        self._stop = stop
        self._compared = threading.local()

    def patch(self, patches: Patches) -> None:
        """Notice where a tensor is compared with an array, until `patches` are restored."""
        equal = Tensor.__eq__

        def __eq__(self_: Any, other: Any) -> Any:  # noqa: N807
            if isinstance(other, Tensor) or not hasattr(other, "__array_interface__") or not mark_of(self_).pretended:
                return equal(self_, other)
            if is_compiled():
                return equal(self_, torch.as_tensor(other).to(self_.device))
            if other.ndim:
                self._refuse("==", self_, self_, torch.device("cpu"), ("device",))
            result = equal(self_, other)
            # The repaired code has an array there, which NumPy takes.
            return result.cpu() if other.ndim and isinstance(result, Tensor) else result

        __eq__.__qualname__ = "Tensor.__eq__"
        patches.replace(Tensor, "__eq__", __eq__)

    def look(self, name: str, args: Any, tensors: list[Any], marks: list[Mark]) -> None:
        """Report the first tensor that an operator does not take beside the others."""
        target = next((each for each in marks if each.pretended), None)
        if target is None:
            return
        name = name.removesuffix("_out")
        off = _taken_amiss(name, args, tensors, marks, target)
        if off is None or self._is_of_a_former():
            return
        on = next(each for each, mark in zip(tensors, marks, strict=True) if mark is target)
        self._refuse(name, off, on, mark_of(off).place, ("mixed",))

    def _refuse(self, name: str, off: Any, on: Any, other: torch.device, reasons: tuple[Reason, ...]) -> None:
        message = f"{REFUSAL}{mark_of(on).place} and {other}!"
        is_handled = False
        with guarded(f"{name}: tensors of two devices are not told of"):
            is_handled = self._handlers.handle(RuntimeError)
            told = event(off, "operator", reasons, ("RuntimeError", message), self._stacks, is_handled=is_handled)
            if reasons == ("mixed",):
                told = told._replace(about=f"{origins.words(on)}; and {origins.words(off)}")
            self._observer(told, off)
        if self._stop or is_handled:
            raise RuntimeError(message)

    def _is_of_a_former(self) -> bool:
        """True if a gradient is computed of what was reported when it went forward."""
        if not STATE.here.backward:
            return False
        for call in self._stacks.read():
            if is_own(call.filename):
                return False
            if call.function == _BACKWARD:
                return True
        return True


def _taken_amiss(name: str, args: Any, tensors: list[Any], marks: list[Mark], target: Mark) -> Any:
    """The tensor that lies elsewhere than the others and must not; None where all are taken."""
    if name in lists.TAKES_HOST and (name not in lists.INDEXING or marks[0].pretended):
        return None
    pairs = list(zip(tensors, marks, strict=True))
    if name == "__setitem__" and not _has_tensors(args[1]):
        return None  # a copy into a view
    if name in lists.WRITES_BY_INDEX and marks[0].pretended:  # the index may lie on the CPU, the values may not
        values = args[2] if len(args) > 2 else None
        pairs = [pair for pair in pairs if pair[0] is values]
    if name in lists.RECURRENT:
        pairs = [pair for pair in pairs if pair[0].is_floating_point()]
    is_strict = name in lists.TAKES_NO_SCALAR
    for each, mark in pairs:
        if mark is UNKNOWN or mark.place == target.place:
            continue
        if (each.dim() or mark.pretended or is_strict) and not isinstance(each, _LAZY) and not each.is_meta:
            return each
    return None


def _has_tensors(index: Any) -> bool:
    return any(isinstance(each, Tensor | list) for each in (index if isinstance(index, tuple) else (index,)))


_LAZY = torch.nn.parameter.UninitializedTensorMixin
