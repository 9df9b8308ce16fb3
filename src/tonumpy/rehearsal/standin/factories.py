"""Wraps functions that make tensors (`torch.zeros`), and generators, so that they get the device that is asked for.

Raises torch's errors for dtypes that a kind of device lacks, and for its products of integers.

Generators of the device draw from the CPU's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.utils._device as default_device

from tonumpy.rehearsal.standin import marks
from tonumpy.rehearsal.standin.marks import CPU, STATE, Base, Tensor, count_modes, is_pretended, mark_of, tensors_in
from tonumpy.rehearsal.standin.operator_lists import MORE_FACTORIES
from tonumpy.rehearsal.standin.patches import Patches

_Base = torch._C.Generator


class _Meta(type(_Base)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Base)


class Generator(torch._C.Generator, metaclass=_Meta):  # type: ignore[misc]
    """A generator of the CPU, or of a device as the program sees it."""

    def __new__(cls, device: Any = "cpu") -> Any:
        """Create it on the CPU if the device is a pretended one."""
        place = STATE.place(device)
        made = _Base.__new__(cls, "cpu" if place is not None else device)
        made._place = place or _Base.device.__get__(made)
        return made

    def __init__(self, device: Any = "cpu") -> None:
        """Do nothing: `__new__` has set all."""

    @property
    def device(self) -> Any:
        """The device that the program asked for."""
        return self._place

    def clone_state(self) -> Any:
        """A copy, of the same device and in the same state."""
        return Generator(self._place).set_state(self.get_state())


class _Default(Generator):
    """The default generator of a device, which draws from the CPU's."""

    def __new__(cls, device: Any) -> Any:
        """Create it without counting visible devices: the program may still set CUDA_VISIBLE_DEVICES."""
        made = _Base.__new__(cls, "cpu")
        made._place = device
        return made


def _of_cpu(name: str) -> Callable[..., Any]:
    return lambda self, *args: getattr(torch.default_generator, name)(*args)  # noqa: ARG005


for _name in ("set_state", "get_state", "manual_seed", "initial_seed", "seed"):
    setattr(_Default, _name, _of_cpu(_name))


def generator_for(generator: Any, place: torch.device) -> Any:
    """The generator to pass to torch's own function; RuntimeError for one of another kind of device."""
    if generator.device.type != place.type:
        raise RuntimeError(f"Expected a '{place.type}' device type for generator but found '{generator.device.type}'")
    return torch.default_generator if type(generator) is _Default else generator


_C = torch._C
_SHARE = ("as_tensor", "asarray")  # they share the memory of data that is on the device already
_OF_DATA = (*_SHARE, "tensor", "scalar_tensor")


def patch(patches: Patches, devices: int) -> None:
    """Patch what is not wrapped as an operator: generators, constructors of types, pinned memory."""
    patches.replace(torch, "Generator", Generator)
    module = getattr(torch, STATE.kind, None)
    if hasattr(module, "default_generators"):
        made = tuple(_Default(torch.device(STATE.kind, index)) for index in range(devices))
        patches.replace(module, "default_generators", made)
    make = Tensor.__new__

    def __new__(*args: Any, **kwargs: Any) -> Any:  # noqa: N807 -- torch._dynamo wants no names of parameters
        mark = with_options(kwargs, marks.HOST)
        made = make(*args, **kwargs)
        marks.note_origin(marks.put(made, mark), "made")
        return made

    patches.replace(Tensor, "__new__", staticmethod(__new__))
    patches.replace(Tensor, "pin_memory", _pinned)
    patches.replace(Tensor, "is_pinned", lambda self, device=None: is_pinned(self))  # noqa: ARG005
    patches.replace(Tensor, "new_tensor", _new_tensor)
    patches.replace(Tensor, "new", _new)


def factory(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a factory function so that it also makes tensors on the stand-in's devices."""
    name = original.__name__
    shares, has_data = name in _SHARE, name in _OF_DATA

    def make(*args: Any, **kwargs: Any) -> Any:
        source = args[0] if args and isinstance(args[0], Tensor) else None
        if source is None and not kwargs and not count_modes():
            return _made(original(*args), marks.HOST)
        if kwargs.get("device") is None and name not in MORE_FACTORIES:
            kwargs["device"] = _default_device()
        if source is not None and has_data:
            if kwargs["device"] is None:
                return marks.put_all(original(*args, **kwargs), mark_of(source))
            args = (source.to(kwargs["device"]), *args[1:])
        is_pinned_wanted, mark = kwargs.get("pin_memory"), with_options(kwargs, marks.HOST)
        result = original(*args, **kwargs)
        if shares and source is None and mark.pretended:  # the device has its own memory
            result = result.clone()
        return _made(note_pinned(result) if is_pinned_wanted else result, mark)

    return named(make, original, name)


def _made(result: Any, mark: marks.Mark) -> Any:
    holder = marks.holder_of(result)
    if mark.pretended or holder.mark is marks.UNKNOWN:
        holder.mark = mark
    check_dtype(result)
    marks.note_origin(holder, "made", 3)
    return result


def with_options(kwargs: dict[str, Any], target: marks.Mark) -> marks.Mark:
    """The mark of an operator's result by its options (`device=`); rewrites these in place for the CPU."""
    if kwargs.get("device") is not None:
        target = marks.at(kwargs["device"])
        if target.pretended:
            kwargs["device"] = CPU
    if kwargs.get("pin_memory"):
        kwargs["pin_memory"] = False
    if kwargs.get("generator") is not None:
        kwargs["generator"] = generator_for(kwargs["generator"], target.place)
    return target


def named(function: Callable[..., Any], original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function, with torch's docstring and the qualified name by which `pickle` finds it in torch."""
    function.__name__, function.__qualname__ = name.rpartition(".")[2], name
    function.__doc__ = original.__doc__
    function.__module__ = getattr(original, "__module__", None) or "torch"
    return function


def _default_device() -> torch.device | None:
    """The device set by `with torch.device(...)` or `torch.set_default_device`, read from torch's stack of function
    modes."""
    for at in reversed(range(_C._len_torch_function_stack())):
        mode = _C._get_function_stack_at(at)
        if isinstance(mode, default_device.DeviceContext):
            return mode.device
    return None


def note_pinned(tensor: Any) -> Any:
    """Note that a tensor lies in pinned memory, and return it."""
    tensor.untyped_storage().is_pinned_here = True
    return tensor


def is_pinned(tensor: Any) -> bool:
    """True if a tensor, or the base of a view, was noted as pinned."""
    return tensor.layout is torch.strided and hasattr(tensor.untyped_storage(), "is_pinned_here")


def _pinned(self: Any, device: Any = None) -> Any:
    del device
    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    return self if is_pinned(self) else note_pinned(self.clone())


def _new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    place = self.device if device is None else device
    return torch.tensor(data, dtype=dtype or self.dtype, device=place, **options)


def _new(self: Any, *args: Any, **options: Any) -> Any:
    """The deprecated `tensor.new(...)`."""
    made = Base.new(self, *args, **(options | ({"device": CPU} if "device" in options else {})))
    marks.put(made, mark_of(self))
    return made


_DOUBLES = {
    torch.float64: "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."
    " Please use float32 instead.",
    torch.complex128: "Trying to convert ComplexDouble to the MPS backend but it does not have support for that dtype.",
}
# Products that CUDA does not implement for integers.
_PRODUCTS = frozenset(
    "matmul __matmul__ mm bmm mv dot vdot addmm addmm_ baddbmm baddbmm_ addmv linear einsum inner".split()
)
_INTEGERS = frozenset((torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool))


def check_dtype(tensor: Any) -> None:
    """Raise TypeError if the tensor's device lacks its dtype (float64 on MPS)."""
    if STATE.kind == "mps" and isinstance(tensor, torch.Tensor) and tensor.dtype in _DOUBLES and is_pretended(tensor):
        raise TypeError(_DOUBLES[tensor.dtype])


def refuses_integers(name: str) -> bool:
    """True if the kind of device does not implement this product for integers."""
    return STATE.kind == "cuda" and name in _PRODUCTS


def refusing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function to raise the errors of the kind of device."""
    if name == "_pack_padded_sequence":
        return _with_lengths(function)
    if STATE.kind == "mps":
        return _without_doubles(function)
    if refuses_integers(name):
        return _without_integers(name.strip("_"), function)
    return function


def _with_lengths(function: Callable[..., Any]) -> Callable[..., Any]:
    def pack(values: Any, lengths: Any, *others: Any) -> Any:
        mark = mark_of(lengths)
        if mark.pretended:
            found = f"{lengths.dim()}D {mark.place} {_word_of(lengths)} tensor"
            raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {found}")
        return function(values, lengths, *others)

    return pack


def _without_integers(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def multiply(*args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():  # hide our queries from the program's modes
            first = args[0] if args and isinstance(args[0], Tensor) else next(iter(tensors_in(args)), None)
            is_refused = first is not None and first.dtype in _INTEGERS and is_pretended(first)
        if is_refused:
            raise NotImplementedError(f"\"{name}\" not implemented for '{_word_of(first)}'")
        return function(*args, **kwargs) if kwargs else function(*args)

    return multiply


def _word_of(tensor: Any) -> str:
    """The dtype's name in torch's messages: "Long" for int64."""
    return str(tensor.cpu().type()).removeprefix("torch.").removesuffix("Tensor")


def _without_doubles(function: Callable[..., Any]) -> Callable[..., Any]:
    def single(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        made = [each for each in tensors_in((result,)) if each.dtype in _DOUBLES]
        if made and any(map(is_pretended, tensors_in((args, kwargs)))):
            raise TypeError(_DOUBLES[made[0].dtype])
        return result

    return single
