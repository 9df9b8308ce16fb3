"""What the program calls the device <-> what torch's C++ calls it.

In C++ the stand-in is a device of a kind that no build of torch has, so that nothing there gets in its way. The program
says and sees the name that it was promised.
"""

from __future__ import annotations

import re
from numbers import Integral
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin import sparse
from tonumpy.rehearsal.standin.falling_back import falling_back
from tonumpy.rehearsal.standin.memory import inner_at, is_inner
from tonumpy.rehearsal.standin.refusals import ordinal

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.origins import Origins
    from tonumpy.rehearsal.standin.patches import Patches

Tensor = torch.Tensor
_Base = torch._C.TensorBase
# The dtypes of the old names of types; `torch.FloatTensor` is one.
_TYPES = {
    torch.float32: "FloatTensor",
    torch.float64: "DoubleTensor",
    torch.float16: "HalfTensor",
    torch.bfloat16: "BFloat16Tensor",
    torch.uint8: "ByteTensor",
    torch.int8: "CharTensor",
    torch.int16: "ShortTensor",
    torch.int32: "IntTensor",
    torch.int64: "LongTensor",
    torch.bool: "BoolTensor",
    torch.complex64: "ComplexFloatTensor",
    torch.complex128: "ComplexDoubleTensor",
}
_TYPE_IN_TEXT = re.compile(r"\bMAIA(\w+)Type\b")
_LIST_OF_KINDS = "Expected one of cpu"  # torch names all kinds that there are, this one among them
_DTYPES = {name: dtype for dtype, name in _TYPES.items()}


class Names:
    """Both names of the device; `count`: how many there are of it."""

    def __init__(self, kind: str, count: int = 1) -> None:
        self.kind = kind
        self.count = count
        self.device = torch.device(kind, 0)
        self.devices = tuple(torch.device(kind, number) for number in range(count))
        self._known: dict[object, tuple[int | None] | None] = {}

    def inner(self, value: Any) -> Any:
        """An argument that may say a device, in C++'s words."""
        kind = type(value)
        if kind is torch.device or kind is str:  # the most of them, and the same again and again
            if value not in self._known:
                self._known[value] = self._asked(value)
            asked = self._known[value]
        else:
            asked = None if value is None or kind is torch.dtype or kind is bool else self._asked(value)
        return value if asked is None else inner_at(asked[0])

    def _asked(self, value: Any) -> tuple[int | None] | None:
        """The number of a device of this kind, if it says one; None as the number is the current one."""
        if isinstance(value, str):
            if not value.startswith(self.kind):
                return None
            value = torch.device(value)
        if isinstance(value, Integral) and not isinstance(value, bool):
            value = torch.device(self.kind, int(value))
        if not isinstance(value, torch.device) or value.type != self.kind:
            return None
        self.check(value.index)
        return (value.index,)

    def outer(self, value: Any) -> Any:
        """A device in C++'s words, in the program's."""
        return self.devices[value.index or 0] if value.type == "maia" else value

    def check(self, index: int | None) -> None:
        """Raise what torch does of a number of a device that is not there."""
        if index is not None and not 0 <= index < self.count:
            raise ordinal(self.kind)

    def in_words(self, value: Any) -> Any:
        """An argument that may say a device, a number as what it stands for."""
        if isinstance(value, Integral) and not isinstance(value, bool):
            return torch.device(self.kind, int(value))
        return value

    def in_text(self, text: str) -> str:
        """A message of torch in the program's words."""
        if "maia" not in text.lower() or text.startswith(_LIST_OF_KINDS):
            return text
        text = _TYPE_IN_TEXT.sub(rf"torch.{self.kind}.\1Tensor", text)
        return text.replace("maia", self.kind).replace("MAIA", self.kind.upper())

    def patch_types(self, patches: Patches) -> None:
        """Let `torch.cuda.FloatTensor` and its like be what they are with a device, until `patches` are restored."""
        module = getattr(torch, self.kind, None)
        for name, dtype in _DTYPES.items():
            if hasattr(module, name):
                patches.replace(module, name, _old_type(f"torch.{self.kind}.{name}", dtype))
        self._patch_default_type(patches)

    def _patch_default_type(self, patches: Patches) -> None:
        set_type, is_set = torch.set_default_tensor_type, False

        def set_default_tensor_type(t: Any) -> None:
            nonlocal is_set
            named = t if isinstance(t, str) else getattr(t, "standin_name", "")
            if named.startswith(f"torch.{self.kind}."):
                torch.set_default_dtype(_DTYPES[named.rpartition(".")[2]])
                torch.set_default_device(self.device)
                is_set = True
            else:
                set_type(t)
                unset()

        def unset() -> None:
            nonlocal is_set
            if is_set:
                torch.set_default_device(None)
            is_set = False

        patches.replace(torch, "set_default_tensor_type", set_default_tensor_type)
        patches.on_exit(unset)

    def patch(self, patches: Patches, origins: Origins) -> None:
        """Let tensors speak the program's words until `patches` are restored."""
        inner, outer, kind = self.inner, self.outer, self.kind
        device_of, to, type_of = _Base.device.__get__, _Base.to, _Base.type

        def device(self: Any) -> Any:
            return outer(device_of(self))

        def is_kind(self: Any) -> bool:
            return bool(self.is_maia)

        def to_(self: Any, *args: Any, **kwargs: Any) -> Any:
            if "device" in kwargs:
                kwargs["device"] = inner(kwargs["device"])
            args = tuple(map(inner, args))
            if self.layout is not torch.strided and not self.is_maia:
                return _to_of_sparse(self, args, kwargs)
            result = to(self, *args, **kwargs)
            return result if result is self else origins.note(result, "moved there")

        def move(self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
            there = inner(kind if device is None else device)
            return to_(self, there, non_blocking=non_blocking, **kwargs)

        def new_tensor(self: Any, data: Any, **kwargs: Any) -> Any:
            return torch.tensor(data, **({"dtype": self.dtype, "device": self.device} | kwargs))

        def type_(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
            if dtype is None:
                return type_of(self) if not self.is_maia else f"torch.{kind}.{_TYPES.get(self.dtype, 'Tensor')}"
            named = dtype if isinstance(dtype, str) else getattr(dtype, "standin_name", None)
            if named is not None and named.startswith(f"torch.{kind}."):
                return to(self, inner(kind), _DTYPES[named.rpartition(".")[2]])
            return type_of(self, dtype, non_blocking, **kwargs)

        def record_stream(self: Any, stream: Any) -> None:
            del self, stream

        old_new = _Base.new

        def new(self: Any, *args: Any, **kwargs: Any) -> Any:
            is_plain = self.is_maia and self.layout is torch.strided
            return _new(self, *args) if is_plain else old_new(self, *args, **kwargs)

        set_item = Tensor.__setitem__

        def __setitem__(self: Any, key: Any, value: Any) -> None:  # noqa: N807
            try:
                set_item(self, key, value)
            except RuntimeError as error:
                if not str(error).startswith("Unimplemented backend"):
                    raise
                # Torch fails to name the type of the tensor, as it refuses the value.
                owner = type(value).__module__
                named = f"{owner}.{type(value).__name__}" if owner != "builtins" else type(value).__name__
                raise TypeError(f"can't assign a {named} to a {type_(self)}") from None

        __setitem__.__qualname__ = "Tensor.__setitem__"
        patches.replace(Tensor, "__setitem__", __setitem__)
        patches.replace(Tensor, "device", property(device))
        patches.replace(Tensor, f"is_{kind}", property(is_kind))
        methods: dict[str, Any] = {"to": to_, kind: move, "type": type_, "record_stream": record_stream}
        self._put(patches, methods | {"new_tensor": new_tensor, "new": new})

    def _put(self, patches: Patches, methods: dict[str, Any]) -> None:
        in_place: list[Any] = []
        for name, function in methods.items():
            function.__name__ = name
            function.__qualname__ = f"Tensor.{name}"
            old = _Base.clone if name == self.kind else getattr(_Base, name, None) or getattr(Tensor, name)
            put = falling_back(f"Tensor.{name}", function, old, self.inner)
            patches.replace(Tensor, name, put)
            in_place.append(put)
        lazy = torch.nn.UninitializedParameter.__mro__[1]  # it lets no other methods pass
        patches.replace(lazy, "_allowed_methods", [*lazy._allowed_methods, *in_place])


def _new(tensor: Any, *args: Any) -> Any:
    """`tensor.new(...)` of old: a size, or data."""
    device = _Base.device.__get__(tensor)
    if args and not all(isinstance(each, int | torch.Size) for each in args):
        data = args[0].tolist() if isinstance(args[0], Tensor) else args[0]
        return torch.tensor(data, dtype=tensor.dtype, device=device)
    return torch.empty(*(args or (0,)), dtype=tensor.dtype, device=device)


def _to_of_sparse(tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`to` of a sparse tensor on the CPU."""
    is_like = any(isinstance(each, Tensor) and each.is_maia for each in args)
    there = next(filter(is_inner, (*args, kwargs.get("device"))), None)
    if there is None and not is_like:
        return _Base.to(tensor, *args, **kwargs)
    args = tuple(torch.device("cpu") if is_inner(each) else each for each in args if not isinstance(each, Tensor))
    return sparse.wrapped(_Base.to(tensor, *args, **kwargs | ({"device": "cpu"} if "device" in kwargs else {})), there)


def _old_type(name: str, dtype: Any) -> Any:
    class Meta(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, Tensor) and instance.is_maia and instance.dtype is dtype

        def __call__(cls, *args: Any) -> Any:
            if args and not all(isinstance(each, int) for each in args):
                return torch.tensor(*args, dtype=dtype, device=inner_at(None))
            return torch.empty(*(args or (0,)), dtype=dtype, device=inner_at(None))

    return Meta(
        name.rpartition(".")[2], (), {"standin_name": name, "dtype": dtype, "__module__": name.rpartition(".")[0]}
    )
