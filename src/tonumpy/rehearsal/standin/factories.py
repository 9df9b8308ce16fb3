"""Functions that make tensors, generators and pinned memory -> the same, for a device whose name C++ does not know."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch
import torch.utils._device

from tonumpy.rehearsal.standin import torchscript
from tonumpy.rehearsal.standin.falling_back import falling_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.origins import Origins
    from tonumpy.rehearsal.standin.patches import Patches

Tensor = torch.Tensor
_FUNCTIONS = (
    "arange as_tensor asarray bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye full"
    " full_like hamming_window hann_window kaiser_window linspace logspace normal ones ones_like rand rand_like randint"
    " randint_like randn randn_like randperm range scalar_tensor tensor tril_indices triu_indices zeros zeros_like"
).split()


def patch(patches: Patches, names: Names, origins: Origins) -> None:
    """Make them work until `patches` are restored."""
    torch.utils._device._device_constructors()  # kept from its first call on: it must hold torch's own
    pinned = _Pinned()
    for name in _FUNCTIONS:
        if hasattr(torch, name):
            old = getattr(torch, name)
            made = falling_back(f"torch.{name}", _factory(old, names, pinned, origins), old, names.inner)
            torchscript.replace(patches, name, made)
    from_numpy = torch.from_numpy
    patches.replace(torch, "from_numpy", lambda array: origins.note(from_numpy(array), "made"))
    patches.replace(torch, "Generator", _generator(names))
    patches.replace(Tensor, "pin_memory", pinned.pin)
    patches.replace(Tensor, "is_pinned", pinned.is_pinned)


def _factory(function: Callable[..., Any], names: Names, pinned: _Pinned, origins: Origins) -> Callable[..., Any]:
    inner = names.inner

    def factory(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = inner(kwargs["device"])
        if kwargs.pop("pin_memory", False):
            return pinned.note(function(*args, **kwargs))
        return origins.note(function(*args, **kwargs), "made")

    factory.__name__ = factory.__qualname__ = function.__name__
    factory.__doc__ = function.__doc__
    factory.__wrapped__ = function  # type: ignore[attr-defined]
    return factory


class _Pinned:
    """The tensors that lie in pinned memory, as the program believes."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Any]] = {}

    def note(self, tensor: Any) -> Any:
        """The tensor, from now on a pinned one."""
        key = id(tensor)
        self._known[key] = weakref.ref(tensor, lambda reference: self._known.pop(key, None))  # noqa: ARG005
        return tensor

    @property
    def is_pinned(self) -> Callable[..., bool]:
        """What takes the place of `Tensor.is_pinned`."""

        def is_pinned(self_: Any, device: Any = None) -> bool:
            del device
            known = self._known.get(id(self_))
            return known is not None and known() is self_

        return is_pinned

    @property
    def pin(self) -> Callable[..., Any]:
        """What takes the place of `Tensor.pin_memory`."""
        is_pinned = self.is_pinned

        def pin_memory(self_: Any, device: Any = None) -> Any:
            del device
            if self_.device.type != "cpu":
                raise RuntimeError(f"cannot pin '{self_.type()}' only dense CPU tensors can be pinned")
            return self_ if is_pinned(self_) else self.note(self_.clone())

        return pin_memory


def _generator(names: Names) -> Any:
    base = torch._C.Generator

    class Meta(type(base)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, base)

    class Generator(torch._C.Generator, metaclass=Meta):  # type: ignore[misc]
        """A generator of the CPU that says it is the device's own."""

        def __new__(cls, device: Any = "cpu") -> Any:
            wanted = torch.device(device)
            made = base.__new__(cls, "cpu" if wanted.type == names.kind else wanted)
            made._wanted = names.device if wanted.type == names.kind else wanted
            return made

        def __init__(self, device: Any = "cpu") -> None:
            """All is made by then."""

        @property
        def device(self) -> Any:
            """What the program asked for."""
            return self._wanted

    return Generator
