"""An operator, and tensors on the CPU among those of the stand-in that it was given -> a refusal, told of or raised.

`tensor == array` is one: torch makes a tensor on the CPU of the array, without asking NumPy. What is told of there is
the tensor on the stand-in, as it is what a repair would move.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin.compiled_code import is_compiled
from tonumpy.rehearsal.standin.event_of import event
from tonumpy.rehearsal.standin.falling_back import REFUSAL
from tonumpy.rehearsal.standin.kernels import tensors_in
from tonumpy.rehearsal.standin.memory import INNER
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from tonumpy.rehearsal.events import Observer, Reason
    from tonumpy.rehearsal.standin.handlers import Handlers
    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.origins import Origins
    from tonumpy.rehearsal.standin.patches import Patches
    from tonumpy.rehearsal.standin.stacks import Stacks

# Operators that take a tensor of any size from the CPU.
TAKES_HOST = frozenset(
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
        "aten::copy",
        "aten::_unsafe_index_put",
        "aten::index_put",
        "aten::is_same_size",
        "aten::resize_as_",
        "aten::_has_same_storage_numel",
        "aten::_ctc_loss_backward.Tensor",
    }
)
# They take an index from the CPU, for a tensor that is not there.
INDEXING = frozenset(name for name in TAKES_HOST if "index" in name)
# They take no tensor from the CPU, not even one without dimensions.
_OF_SEVERAL = "cat stack embedding index_select gather scatter.src dot nll_loss nll_loss_forward nll_loss2d_forward"
TAKES_NO_SCALAR = frozenset(f"aten::{name}" for name in _OF_SEVERAL.split())
_BACKWARD = "_engine_run_backward"  # torch's own function, which stands on the stack while gradients are computed


class Mixing:
    """Refuses what real hardware refuses."""

    def __init__(
        self, observer: Observer, stacks: Stacks, names: Names, handlers: Handlers, origins: Origins, *, stop: bool
    ) -> None:
        self._origins = origins
        self._handlers = handlers
        self._observer = observer
        self._stacks = stacks
        self._outer = names.outer
        self._stop = stop
        self._compared = threading.local()

    def patch(self, patches: Patches) -> None:
        """Notice where a tensor is compared with an array, until `patches` are restored."""
        equal, compared = torch._C.TensorBase.__eq__, self._compared

        def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
            if isinstance(other, torch.Tensor) or not hasattr(other, "__array_interface__") or not self.is_maia:
                return equal(self, other)
            if is_compiled():
                return equal(self, torch.as_tensor(other).to(self.device))
            compared.tensor = self
            try:
                result = equal(self, other)
            finally:
                compared.tensor = None
            # The repaired code has an array there, which NumPy takes.
            return result.cpu() if other.ndim and isinstance(result, torch.Tensor) else result

        __eq__.__qualname__ = "Tensor.__eq__"
        patches.replace(torch.Tensor, "__eq__", __eq__)

    def refuse(self, op: Any, off: list[Any], given: Any) -> None:
        """Tell of the first of these tensors on the CPU among what the operator is `given`, unless it takes them."""
        name = _name_of(op._schema)
        is_host = off[0].is_cpu
        if not (is_host or off[0].is_maia) or (is_host and _takes(name, given)) or self._is_of_a_former():
            return
        message = self._message(off[0], given)
        is_handled = False
        try:
            is_handled = self._handlers.handle(RuntimeError)
            self._tell(off[-1 if "index_put" in name else 0], given, message, is_handled=is_handled)
        except Exception as problem:
            warn(f"{name}: tensors of two devices are not told of ({type(problem).__name__}: {problem})")
        if self._stop or is_handled:
            raise RuntimeError(message)

    def _message(self, off: Any, given: Any) -> str:
        """In torch's words; of two accelerators the first argument's is named first."""
        on = next((each for each in tensors_in(given) if each.is_maia), None)
        device = torch._C.TensorBase.device.__get__
        first = self._outer(INNER if on is None else device(on))
        return f"{REFUSAL}{first} and {self._outer(device(off))}!"

    def _is_of_a_former(self) -> bool:
        """Whether a gradient is computed, of what was told of when it went forward."""
        if torch._C._current_graph_task_id() == -1:
            return False
        for call in self._stacks.read():
            if is_own(call.filename):
                return False
            if call.function == _BACKWARD:
                return True
        return True

    def _tell(self, off: Any, given: Any, message: str, *, is_handled: bool) -> None:
        error = ("RuntimeError", message)
        tensor = getattr(self._compared, "tensor", None)
        reasons: tuple[Reason, ...] = ("mixed",) if tensor is None else ("device",)
        told = off if tensor is None else tensor
        found = event(told, "operator", reasons, error, self._stacks, is_handled=is_handled)
        if tensor is None:
            found = found._replace(about=self._both(off, given))
        self._observer(found, told)

    def _both(self, off: Any, given: Any) -> str:
        on = next((each for each in tensors_in(given) if each.is_maia), None)
        words = [self._origins.words(each) for each in (on, off) if each is not None]
        return "; and ".join(words)


def _name_of(schema: Any) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def _takes(name: str, given: Any) -> bool:
    if name not in TAKES_HOST:
        return False
    first = next(tensors_in(given), None)
    return name not in INDEXING or (first is not None and first.is_maia and not _has_values_elsewhere(name, given))


def _has_values_elsewhere(name: str, given: Any) -> bool:
    """Whether what is put into a tensor lies on the CPU; the index may."""
    values = given[0][2] if "index_put" in name and len(given[0]) > 2 else None
    return isinstance(values, torch.Tensor) and values.is_cpu and values.dim() > 0
