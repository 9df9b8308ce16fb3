"""Replaces the methods that move a tensor or report its device: `to`, `cuda`, `cpu`, `type`, `device`, `is_cuda`."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import torch
from torch.overrides import handle_torch_function, has_torch_function, has_torch_function_unary

from tonumpy.rehearsal.standin import marks
from tonumpy.rehearsal.standin.factories import check_dtype
from tonumpy.rehearsal.standin.marks import CPU, STATE, Base, Tensor, mark_of
from tonumpy.rehearsal.standin.patches import Patches

_to, _type = Base.to, Base.type
_device, _is_cpu = Base.device.__get__, Base.is_cpu.__get__
_DEVICES = (str, torch.device, Integral, type(None))  # types of values that may name a device
_Lazy = torch.nn.parameter.UninitializedTensorMixin


def patch(patches: Patches) -> None:
    """Patch these methods."""
    kind = STATE.kind

    def device(self: Any) -> torch.device:
        mark = mark_of(self)
        return mark.place if mark.pretended else _device(self)

    def is_cpu(self: Any) -> bool:
        return not mark_of(self).pretended and bool(_is_cpu(self))

    def get_device(self: Any) -> int:
        mark = mark_of(self)
        return mark.place.index if mark.pretended else -1

    def there(self: Any, device: Any = None, non_blocking: bool = False, **options: Any) -> Any:
        return to(self, kind if device is None else device, non_blocking=non_blocking, **options)

    patches.replace(Tensor, "device", property(device))
    patches.replace(Tensor, f"is_{kind}", property(lambda self: mark_of(self).pretended))
    patches.replace(Tensor, "is_cpu", property(is_cpu))
    methods: dict[str, Any] = {"to": to, kind: there, "cpu": cpu, "type": type_, "get_device": get_device}
    methods["type_as"] = type_as
    for name, function in methods.items():
        patches.replace(Tensor, name, function)
    patches.replace(Tensor, "record_stream", lambda self, stream: None)  # noqa: ARG005
    patches.replace(_Lazy, "_allowed_methods", [*_Lazy._allowed_methods, to, cpu, there])
    _replace_old_types(patches)
    patches.around(torch._C._nn, "_parse_to", _parsed)


def _parsed(parse: Any, *args: Any, **kwargs: Any) -> Any:
    """Parse the arguments of `Module.to`; torch's C++ parser cannot resolve a number to a pretended device."""
    place = STATE.place(args[0] if args else kwargs.get("device"))
    if place is None:
        return parse(*args, **kwargs)
    return parse(place, *args[1:], **kwargs) if args else parse(**kwargs | {"device": place})


def cpu(self: Any, **options: Any) -> Any:
    if has_torch_function_unary(self):
        return handle_torch_function(Tensor.cpu, (self,), self, **options)
    return _on(self, CPU, (), options)


def type_as(self: Any, other: Any) -> Any:
    if has_torch_function((self, other)):
        return handle_torch_function(Tensor.type_as, (self, other), self, other)
    return to(self, other)


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """`Tensor.to`: a move to another device copies, as on real hardware; a mere change of dtype keeps the device."""
    if has_torch_function_unary(self):  # a mode or a subclass sees the call as it was written
        return handle_torch_function(Tensor.to, (self,), self, *args, **kwargs)
    if len(args) == 1 and not kwargs and (type(args[0]) is str or type(args[0]) is torch.device):
        return _on(self, args[0], (), {})
    if has_torch_function(given := (self, *args, *kwargs.values())):
        return handle_torch_function(Tensor.to, given, self, *args, **kwargs)
    device, rest = _target(args, kwargs)
    if device is None:
        return _noted(self, _to(self, *args, **kwargs) if args or kwargs else self, mark_of(self))
    return _on(self, device, rest, kwargs)


def _target(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """The device that the arguments of `to` name, and the positional ones after it; it is removed from `kwargs`."""
    device, other = kwargs.pop("device", None), kwargs.pop("tensor", None)
    if args and isinstance(args[0], Tensor):
        other, args = args[0], args[1:]
    elif args and isinstance(args[0], _DEVICES) and not isinstance(args[0], bool):
        device, args = args[0], args[1:]
    if other is not None:
        device, kwargs["dtype"] = other.device, other.dtype
    return device, args


def _on(self: Any, device: Any, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Move the tensor to a device, with the other options of `to`."""
    mark, target, is_plain = mark_of(self), marks.at(device), not rest and not kwargs
    if target is marks.UNKNOWN:  # `meta`, or a device that raises
        return _to(self.data if mark.pretended and self.is_leaf else self, device, *rest, **kwargs)
    if mark is target and is_plain:
        return self
    if isinstance(self, _Lazy):
        self = self.data
    stays = mark.place == target.place and not mark.excused
    if stays or self.layout is not torch.strided:
        result = _to(self, CPU, *rest, **kwargs)
        if result is self and not stays:
            result = result.clone()
    elif is_plain:
        result = _to(self, CPU, None, False, True)
    else:
        result = _to(self, CPU, *rest[:2], **kwargs | {"copy": True})
    return _noted(self, result, target)


def _noted(before: Any, result: Any, mark: Any) -> Any:
    if result is before:
        return result
    holder = marks.holder_of(result)
    holder.mark = mark
    check_dtype(result)
    marks.note_origin(holder, "moved there", 3)
    return result


# The dtypes that have legacy type names, such as `torch.FloatTensor`, and those names.
_WITH_NAMES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128),
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool),
)
_NAMES = {dtype: torch.empty(0, dtype=dtype, device="cpu").type().rpartition(".")[2] for dtype in _WITH_NAMES}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


def type_(self: Any, dtype: Any = None, non_blocking: bool = False, **options: Any) -> Any:
    """`Tensor.type`; a legacy type name such as `torch.cuda.FloatTensor` also names a device."""
    kind = STATE.kind
    if dtype is None:
        return f"torch.{kind}.{_NAMES.get(self.dtype, 'Tensor')}" if mark_of(self).pretended else _type(self)
    if isinstance(dtype, torch.dtype):
        return to(self, dtype)
    of_dtype, is_there = _meant(dtype)
    if of_dtype is None:
        return _type(to(self, CPU), dtype, non_blocking, **options)
    return to(self, kind if is_there else CPU, of_dtype, non_blocking=non_blocking)


def _meant(old: Any) -> tuple[torch.dtype | None, bool]:
    """The dtype of a legacy type or its name (None if it is no such type), and whether the type is the device's."""
    name = old if isinstance(old, str) else getattr(old, "standin_name", "")
    return _DTYPES.get(name.rpartition(".")[2]), name.startswith(f"torch.{STATE.kind}.")


def _replace_old_types(patches: Patches) -> None:
    """Patch `torch.FloatTensor`, `torch.cuda.FloatTensor` and their like to make and recognize tensors by device."""
    kind = STATE.kind
    for owner, prefix, device in ((torch, "torch", CPU), (getattr(torch, kind, None), f"torch.{kind}", kind)):
        for name, dtype in _DTYPES.items():
            if hasattr(owner, name):
                patches.replace(owner, name, _old_type(f"{prefix}.{name}", dtype, device))
    set_type = torch.set_default_tensor_type

    def set_default_tensor_type(t: Any) -> None:
        dtype, is_there = _meant(t)
        if dtype is None:
            set_type(t)
            return
        torch.set_default_dtype(dtype)
        torch.set_default_device(torch.device(kind, 0) if is_there else None)
        if is_there:
            patches.callback(torch.set_default_device, None)

    patches.replace(torch, "set_default_tensor_type", set_default_tensor_type)


def _old_type(name: str, of_dtype: torch.dtype, device: Any) -> Any:
    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            if not isinstance(instance, Tensor) or instance.dtype is not of_dtype:
                return False
            return bool(instance.device.type == torch.device(device).type)

        def __call__(cls, *args: Any, **options: Any) -> Any:
            options.setdefault("device", device)
            if args and isinstance(args[0], torch.Size):
                args = tuple(args[0])
            if args and not all(isinstance(each, int) for each in args):
                data = args[0].tolist() if isinstance(args[0], Tensor) else args[0]
                return torch.tensor(data, dtype=of_dtype, **options)
            return torch.empty(*(args or (0,)), dtype=of_dtype, **options)

    fields = {"standin_name": name, "dtype": of_dtype, "is_sparse": False, "__module__": name.rpartition(".")[0]}
    return Meta(name.rpartition(".")[2], (), fields)
