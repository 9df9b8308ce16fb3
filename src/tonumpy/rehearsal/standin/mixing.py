"""An operator, and tensors on the CPU among those of the stand-in that it was given -> a refusal, told of or raised.

`tensor == array` is one: torch makes a tensor on the CPU of the array, without asking NumPy. What is told of there is
the tensor on the stand-in, as it is what a repair would move.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.conversions import event
from tonumpy.rehearsal.standin.falling_back import REFUSAL
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from tonumpy.rehearsal.events import Observer, Reason
    from tonumpy.rehearsal.standin.handlers import Handlers
    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.patches import Patches
    from tonumpy.rehearsal.standin.stacks import Stacks

# Operators that take a tensor of any size from the CPU.
_TAKES_HOST = frozenset(
    {
        "aten::copy_",
        "aten::_to_copy",
        "aten::index.Tensor",
        "aten::index_put_",
        "aten::_index_put_impl_",
        "aten::_unsafe_index.Tensor",
        "aten::_pack_padded_sequence",
        "aten::_ctc_loss.Tensor",
        "aten::_foreach_copy_",
    }
)


class Mixing:
    """Refuses what real hardware refuses."""

    def __init__(self, observer: Observer, stacks: Stacks, names: Names, handlers: Handlers, *, stop: bool) -> None:
        self._handlers = handlers
        self._observer = observer
        self._stacks = stacks
        self._message = f"{REFUSAL}{names.device} and cpu!"
        self._stop = stop
        self._compared = threading.local()

    def patch(self, patches: Patches) -> None:
        """Notice where a tensor is compared with an array, until `patches` are restored."""
        equal, compared = torch._C.TensorBase.__eq__, self._compared

        def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
            if isinstance(other, torch.Tensor) or not hasattr(other, "__array_interface__") or not self.is_maia:
                return equal(self, other)
            compared.tensor = self
            try:
                result = equal(self, other)
            finally:
                compared.tensor = None
            # The repaired code has an array there, which NumPy takes.
            return result.cpu() if other.ndim and isinstance(result, torch.Tensor) else result

        __eq__.__qualname__ = "Tensor.__eq__"
        patches.replace(torch.Tensor, "__eq__", __eq__)

    def refuse(self, op: Any, off: list[Any]) -> None:
        """Tell of the first of these tensors, unless the operator takes them."""
        schema = op._schema
        name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
        if name in _TAKES_HOST:
            return
        is_handled = False
        try:
            is_handled = self._handlers.handle(RuntimeError)
            self._tell(off[0], is_handled=is_handled)
        except Exception as problem:
            warn(f"{name}: tensors of two devices are not told of ({type(problem).__name__}: {problem})")
        if self._stop or is_handled:
            raise RuntimeError(self._message)

    def _tell(self, off: Any, *, is_handled: bool) -> None:
        error = ("RuntimeError", self._message)
        tensor = getattr(self._compared, "tensor", None)
        reasons: tuple[Reason, ...] = ("mixed",) if tensor is None else ("device",)
        about = off if tensor is None else tensor
        self._observer(event(about, "operator", reasons, error, self._stacks, is_handled=is_handled), about)
