"""Functions that make tensors, generators and pinned memory -> the same, for a device whose name C++ does not know."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch
import torch.utils._device

from tonumpy.rehearsal.standin import torchscript
from tonumpy.rehearsal.standin.falling_back import falling_back
from tonumpy.rehearsal.standin.refusals import of_generator

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


def patch(patches: Patches, names: Names, origins: Origins) -> Pinned:
    """Make them work until `patches` are restored. Gives what is known of pinned memory."""
    torch.utils._device._device_constructors()  # kept from its first call on: it must hold torch's own
    pinned = Pinned()
    for name in _FUNCTIONS:
        if hasattr(torch, name):
            old = getattr(torch, name)
            made = falling_back(f"torch.{name}", _factory(old, names, pinned, origins), old, names.inner)
            torchscript.replace(patches, name, made)
    from_numpy = torch.from_numpy
    patches.replace(torch, "from_numpy", lambda array: origins.note(from_numpy(array), "made"))
    kind = _generator(names)
    patches.replace(torch, "Generator", kind)
    module = getattr(torch, names.kind, None)
    if hasattr(module, "default_generators"):
        patches.replace(module, "default_generators", tuple(map(kind, names.devices)))
    patches.replace(Tensor, "pin_memory", pinned.pin)
    patches.replace(Tensor, "is_pinned", pinned.is_pinned)
    return pinned


def _factory(function: Callable[..., Any], names: Names, pinned: Pinned, origins: Origins) -> Callable[..., Any]:
    inner = names.inner

    def factory(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = inner(kwargs["device"])
        if kwargs.get("generator") is not None and not any(isinstance(each, Tensor) for each in args):
            _check_generator(kwargs["generator"], kwargs.get("device") or torch.get_default_device(), names)
        if kwargs.pop("pin_memory", False):
            return pinned.note(function(*args, **kwargs))
        return origins.note(function(*args, **kwargs), "made")

    factory.__name__ = factory.__qualname__ = function.__name__
    factory.__doc__ = function.__doc__
    factory.__wrapped__ = function  # type: ignore[attr-defined]
    return factory


def _check_generator(generator: Any, device: Any, names: Names) -> None:
    """A generator of the device draws nothing for the CPU."""
    if generator._cdata in _of_device and torch.device(device).type == "cpu":
        raise of_generator("cpu", names.kind)


class Pinned:
    """The tensors that lie in pinned memory, as the program believes."""

    def __init__(self) -> None:
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()

    def note(self, tensor: Any) -> Any:
        """The tensor, from now on a pinned one."""
        self._known.add(tensor.untyped_storage())
        return tensor

    def has(self, tensor: Any) -> bool:
        """Whether it is one, or a view of one."""
        return bool(self._known) and tensor.layout is torch.strided and tensor.untyped_storage() in self._known

    @property
    def is_pinned(self) -> Callable[..., bool]:
        """What takes the place of `Tensor.is_pinned`."""

        def is_pinned(self_: Any, device: Any = None) -> bool:
            del device
            return self.has(self_)

        return is_pinned

    @property
    def pin(self) -> Callable[..., Any]:
        """What takes the place of `Tensor.pin_memory`."""

        def pin_memory(self_: Any, device: Any = None) -> Any:
            del device
            if self_.device.type != "cpu":
                raise RuntimeError(f"cannot pin '{self_.type()}' only dense CPU tensors can be pinned")
            return self_ if self.has(self_) else self.note(self_.clone())

        return pin_memory


_of_device: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def is_of_device(generator: Any) -> bool:
    """Whether a generator is the device's own; C++ hands others in its place, for the same."""
    return generator._cdata in _of_device


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
            made._wanted = wanted
            if wanted.type == names.kind:
                made._wanted = names.outer(names.inner(wanted))
                _of_device[made._cdata] = made
            return made

        def __init__(self, device: Any = "cpu") -> None:
            """All is made by then."""

        @property
        def device(self) -> Any:
            """What the program asked for."""
            return self._wanted

    return Generator
