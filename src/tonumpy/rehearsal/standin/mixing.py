"""An operator, and tensors on the CPU among those of the stand-in that it was given -> a refusal, told of or raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tonumpy.rehearsal.standin.conversions import event

if TYPE_CHECKING:
    from tonumpy.rehearsal.events import Observer
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

    def __init__(self, observer: Observer, stacks: Stacks, *, stop: bool) -> None:
        self._observer = observer
        self._stacks = stacks
        self._stop = stop

    def refuse(self, op: Any, off: list[Any]) -> None:
        """Tell of the first of these tensors, unless the operator takes them."""
        schema = op._schema
        name = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
        if name in _TAKES_HOST:
            return
        message = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
        self._observer(event(off[0], "operator", ("mixed",), ("RuntimeError", message), self._stacks), off[0])
        if self._stop:
            raise RuntimeError(message)
