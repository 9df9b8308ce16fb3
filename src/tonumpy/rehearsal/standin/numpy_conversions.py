"""Replaces `.numpy()` and `__array__` by versions that refuse as on real hardware: they report, then raise or repair.

An array that shares memory with a tensor is reported if it was kept while the tensor was overwritten repeatedly, as by
`frames.append(position.numpy())` in a loop that moves `position`. One stale array may just be a name not rebound yet;
two of different times must have been kept.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import torch

from tonumpy.rehearsal.events import Event, Observer, Reason, Way
from tonumpy.rehearsal.frames import is_compiled
from tonumpy.rehearsal.standin.marks import CPU, PLAIN_TYPES, STATE, Base, Mark, Tensor, count_modes, mark_of, on
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.pending_copies import Copies
from tonumpy.rehearsal.standin.reporting import Reports, guarded

_numpy, _is_cpu = Base.numpy, Base.is_cpu.__get__
_OF_DLPACK: dict[Reason, str] = {
    "grad": "Can't export tensors that require gradient, use tensor.detach()",
    "bit": "Can't export tensors with the conjugate bit set",
    "device": "Unsupported device in DLTensor.",
}
_HALF = {torch.complex32: torch.complex64}


class Conversions:
    """Replaces torch's own conversions."""

    def __init__(self, reports: Reports, note: Callable[[Event], None], copies: Copies) -> None:
        self._reports = reports
        self._note = note  # called for each conversion that is not refused
        self._copies = copies
        self._sharing = Sharing(reports.observer)

    def patch(self, patches: Patches) -> None:
        """Patch torch's conversions."""
        patches.around(Tensor, "numpy", self._of_numpy)
        # The function must be named `__array__`: NumPy reads in the error whether it accepts `copy`.
        patches.replace(Tensor, "__array__", lambda tensor, dtype=None: self._of_array(tensor, dtype))
        patches.around(Tensor, "__array_wrap__", self._wrap)
        patches.around(Tensor, "__dlpack__", self._exported)
        patches.replace(Tensor, "__dlpack_device__", _dlpack_device)

    def _of_numpy(self, _: Any, tensor: Any, *, force: bool = False) -> Any:
        return self._convert(tensor, "numpy", force=force)

    def _of_array(self, tensor: Any, dtype: Any) -> Any:
        made = self._convert(tensor, "array", force=False)
        return made if dtype is None else made.astype(dtype, copy=False)

    def _wrap(self, wrap: Any, tensor: Any, array: Any, *more: Any) -> Any:
        reasons = refused(tensor)
        if reasons and "layout" not in reasons:
            return self._as_unrefused(tensor, wrap(tensor, array))
        if reasons:
            return array[()] if more[1:] == (True,) else array
        return wrap(tensor, array, *more)  # torch's own takes no more, and NumPy asks again without

    def _convert(self, tensor: Any, way: Way, *, force: bool) -> Any:
        if type(tensor) in PLAIN_TYPES and not count_modes():
            return self._converted(tensor, way, mark_of(tensor), force=force)
        if STATE.here.is_converting:  # under a function mode torch calls this again
            return _numpy(tensor, force=force)
        STATE.here.is_converting = True
        try:
            return self._converted(tensor, way, mark_of(tensor), force=force)
        finally:
            STATE.here.is_converting = False

    def _converted(self, tensor: Any, way: Way, mark: Mark, *, force: bool) -> Any:
        if not mark.pretended:
            self._copies.check(tensor, is_array_made=way == "numpy")
        reasons = () if force else refused(tensor, mark)
        if (reasons or (tensor.requires_grad and not force)) and is_compiled():
            made = repaired(tensor)
            with guarded(f"Tensor.{way}: this conversion is not told of"):  # compiled: requires_grad has no effect
                self._reports.observer(self._reports.event(tensor, way)._replace(requires_grad=False), tensor)
            if way == "array":
                return made
            from tonumpy.rehearsal.standin.compiled_numpy import traced  # start-up

            return traced(made, tensor)
        if reasons and mark.excused:
            return repaired(tensor)  # it is on the device only by a fault that was reported
        if reasons:
            error = _error(tensor, reasons[0])
            self._reports.refuse(tensor, way, reasons, error)
            with guarded(f"Tensor.{way}: it cannot go on as if it were repaired"):
                return repaired(tensor)
            raise error
        made = _numpy(tensor.cpu() if mark.pretended else tensor, force=force)
        with guarded(f"Tensor.{way}: this conversion is not told of"):
            happened = self._reports.event(tensor, way)
            self._reports.observer(happened, tensor)
            self._note(happened)
            if not mark.pretended and tensor.layout is torch.strided:
                self._sharing.note(tensor, made, happened)
        return made

    def _exported(self, export: Any, tensor: Any, **options: Any) -> Any:
        """`np.from_dlpack(x)`, `jax.dlpack.from_dlpack(x)`: refuse grad and bits as torch does for every caller, and
        the device if NumPy asks: it alone passes a device and no stream. The dtype is the consumer's concern."""
        is_for_numpy = options.get("dl_device", CPU) is None and "stream" not in options
        asked: tuple[Reason, ...] = ("grad", "bit", "device") if is_for_numpy else ("grad", "bit")
        reasons = tuple(each for each in asked if each in refused(tensor))
        if reasons:
            is_older = reasons[0] == "device" and numpy.lib.NumpyVersion(numpy.__version__) < "2.5.0"
            error = (RuntimeError if is_older else BufferError)(_OF_DLPACK[reasons[0]])
            self._reports.refuse(tensor, "array", reasons, error)
        # Call torch's own function without these options, as for the CPU, which has no stream.
        own = {name: value for name, value in options.items() if name not in ("stream", "dl_device")}
        with torch.no_grad():
            return export(Base.detach(tensor).resolve_conj(), **own)

    def _as_unrefused(self, tensor: Any, made: Any) -> Any:
        """The result of a ufunc on a tensor that was refused, as torch would wrap it: a tensor on that tensor's device.
        Repaired code may have an array there, so it is marked `excused`, and so are results of such tensors alone."""
        there = made.clone() if isinstance(made, Tensor) else made
        if not isinstance(there, Tensor):
            return there
        there.untyped_storage().mark = on(mark_of(tensor).place, excused=True)
        is_learnt = tensor.requires_grad and torch.is_grad_enabled() and there.is_floating_point()
        return _WithoutHistory.apply(tensor, there) if is_learnt else there


class _WithoutHistory(torch.autograd.Function):  # type: ignore[misc]
    """Links a tensor that NumPy computed to its input; the gradient is zero, as torch does not know the function."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, made: Any) -> Any:
        ctx.save_for_backward(tensor)
        return made.view_as(made)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        del gradients
        return torch.zeros_like(ctx.saved_tensors[0]), None


def _dlpack_device(self: Any) -> tuple[int, int]:
    mark = mark_of(self)
    return (2, mark.place.index) if mark.pretended else (1, 0)


def _error(tensor: Any, reason: Reason) -> TypeError | RuntimeError:
    """The error that torch raises for the reason, obtained from torch itself unless the reason is the device."""
    if reason == "device":
        return TypeError(
            f"can't convert {tensor.device} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    try:
        _numpy(tensor)
    except (TypeError, RuntimeError) as error:
        return error
    return RuntimeError("Can't call numpy() on this tensor.")


def refused(tensor: Any, mark: Mark | None = None) -> tuple[Reason, ...]:
    """The reasons why NumPy cannot take this tensor, in the order in which torch checks them."""
    is_there = (mark or mark_of(tensor)).pretended or not _is_cpu(tensor)
    asked: dict[Reason, bool] = {
        "layout": tensor.layout is not torch.strided,
        "device": is_there,
        "grad": tensor.requires_grad and torch.is_grad_enabled(),
        "bit": tensor.is_conj() or tensor.is_neg(),
        "dtype": not _has_dtype(tensor.dtype),
    }
    return tuple(reason for reason, is_refused in asked.items() if is_refused)


@functools.cache
def _has_dtype(dtype: Any) -> bool:
    """True if NumPy has the dtype; torch itself is asked, once."""
    try:
        _numpy(torch.empty(0, dtype=dtype, device="cpu"))
    except (TypeError, RuntimeError):
        return False
    return True


def repaired(tensor: Any) -> Any:
    """The array that the repaired code would give."""
    with torch.no_grad():
        plain = Base.detach(tensor).to(CPU)
        if plain.layout is not torch.strided:
            plain = plain.to_dense()
        if plain.is_quantized:
            plain = plain.dequantize()
        plain = plain.resolve_conj().resolve_neg()
        if not _has_dtype(plain.dtype):
            plain = plain.to(_HALF.get(plain.dtype, torch.float32))
        return _numpy(plain)


class _Kept(NamedTuple):
    array: weakref.ref[Any]
    version: int
    event: Event


class Sharing:
    """Tracks live arrays by the memory that they share with tensors."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._by_memory: dict[int, list[_Kept]] = {}
        self._told: set[object] = set()

    def note(self, tensor: Any, array: Any, event: Event) -> None:
        """Record a new array, and report the earlier ones of its memory if they have been overwritten."""
        if tensor.is_inference() or tensor.is_conj() or tensor.is_neg():
            return  # it has no count of writes, or was copied
        if len(self._by_memory) > 1000:
            self._by_memory.clear()
        address, version = tensor.data_ptr(), tensor._version
        kept = [each for each in self._by_memory.get(address, ()) if each.array() is not None]
        if kept:
            stale = {each.version for each in kept if each.version != version}
            if len(stale) > 1 and event.stack not in self._told:
                self._told.add(event.stack)
                self._observer(kept[0].event._replace(way="shared write", reasons=(), error=None), tensor)
        if not kept or all(each.version != version for each in kept):
            kept.append(_Kept(weakref.ref(array), version, event))
        self._by_memory[address] = kept[-8:]
