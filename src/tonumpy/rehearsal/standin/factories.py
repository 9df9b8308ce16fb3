"""Functions that make tensors from no other tensor: their result is marked with the device that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.utils._device as default_device
import torch.utils.dlpack

from tonumpy.rehearsal.standin import origins
from tonumpy.rehearsal.standin.generators import generator_for
from tonumpy.rehearsal.standin.marks import Base, Tensor, mark_of, on, put, put_all, put_new
from tonumpy.rehearsal.standin.refusals import check_dtype
from tonumpy.rehearsal.standin.state import CPU, HOST, STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

_C = torch._C
_SHARE = ("as_tensor", "asarray")  # they give the memory of their data, where it lies there already
_OF_DATA = (*_SHARE, "tensor", "scalar_tensor")
_NEW = "new_empty new_empty_strided new_full new_ones new_zeros".split()


def patch(patches: Patches) -> None:
    """Make what is not wrapped as an operator: constructors of types, pinned memory, until `patches` are restored."""
    make = Tensor.__new__

    def __new__(*args: Any, **kwargs: Any) -> Any:  # noqa: N807 -- torch._dynamo wants no names of parameters
        place = STATE.place(kwargs["device"]) if kwargs.get("device") is not None else None
        if place is not None:
            kwargs["device"] = CPU
        made = make(*args, **kwargs)
        put(made, HOST if place is None else on(place))
        return origins.note(made, "made")

    take = torch.from_dlpack

    def from_dlpack(ext_tensor: Any, **options: Any) -> Any:
        made = take(ext_tensor, **options)
        put(made, mark_of(ext_tensor) if isinstance(ext_tensor, Tensor) else HOST)
        return origins.note(made, "made")

    for owner in (torch, torch.utils.dlpack):
        patches.replace(owner, "from_dlpack", from_dlpack)
    patches.replace(Tensor, "__new__", staticmethod(__new__))
    patches.replace(Tensor, "pin_memory", _pinned)
    patches.replace(Tensor, "is_pinned", lambda self, device=None: is_pinned(self))  # noqa: ARG005
    patches.replace(Tensor, "new_tensor", _new_tensor)
    patches.replace(Tensor, "new", _new)


def factory(original: Callable[..., Any]) -> Callable[..., Any]:
    """The function, for devices of the stand-in, too."""
    name = original.__name__
    shares, has_data = name in _SHARE, name in _OF_DATA

    def make(*args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device")
        source = args[0] if has_data and args and isinstance(args[0], Tensor) else None
        if device is None:
            device = _default_device()
        if source is not None and (device is None or kwargs.get("device") is None):
            return put_all(original(*args, **kwargs), mark_of(source))
        is_pinned_wanted = bool(kwargs.pop("pin_memory", False))
        place = None if device is None else STATE.place(device)
        if kwargs.get("generator") is not None:
            kwargs["generator"] = generator_for(kwargs["generator"], place or CPU)
        if place is None:
            return _on_host(original, args, kwargs, device, is_pinned_wanted=is_pinned_wanted)
        kwargs["device"] = CPU
        if source is not None and shares:
            source = source.to(place)
            return put_all(original(source, *args[1:], **kwargs), mark_of(source))
        result = original(*args, **kwargs)
        if shares:  # the device has its own memory
            result = result.clone()
        put_new(result, on(place))
        check_dtype(result)
        return origins.note(result, "made")

    make.__name__ = make.__qualname__ = name
    make.__doc__ = original.__doc__
    make.__module__ = getattr(original, "__module__", None) or "torch"
    return make


def _on_host(
    original: Callable[..., Any], args: Any, kwargs: dict[str, Any], device: Any, *, is_pinned_wanted: bool
) -> Any:
    if device is None:
        result = original(*args, **kwargs)
        put(result, HOST)
    else:
        kwargs["device"] = device
        if args and isinstance(args[0], Tensor) and mark_of(args[0]).pretended:
            args = (args[0].to(device), *args[1:])
        result = original(*args, **kwargs)
        if torch.device(device).type == "cpu":
            put(result, HOST)
    if is_pinned_wanted:
        note_pinned(result)
    return origins.note(result, "made")


def _default_device() -> torch.device | None:
    """What `with torch.device(...)` and `torch.set_default_device` say; the first enters no context of Python's."""
    for at in reversed(range(_C._len_torch_function_stack())):
        mode = _C._get_function_stack_at(at)
        if isinstance(mode, default_device.DeviceContext):
            return mode.device
    return None


def note_pinned(tensor: Any) -> Any:
    """The tensor, which lies in pinned memory from now on."""
    tensor.untyped_storage().is_pinned_here = True
    return tensor


def is_pinned(tensor: Any) -> bool:
    """Whether a tensor, or what it is a view of, lies in pinned memory."""
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
    """`tensor.new(...)` of old."""
    made = Base.new(self, *args, **(options | ({"device": CPU} if "device" in options else {})))
    put(made, mark_of(self))
    return made
