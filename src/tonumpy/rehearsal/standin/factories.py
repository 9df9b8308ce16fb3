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
        defaults = tuple(map(_default_of(kind), names.devices))
        patches.replace(module, "default_generators", defaults)
        patches.on_exit(_defaults.clear)
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


_defaults: set[int] = set()
_of_device: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def drawn_from(generator: Any) -> Any:
    """What the device draws from where it is given a generator: the same, or the CPU's own for the device's own; None
    for one of another device. C++ hands other objects of Python in its place, for the same."""
    if generator._cdata in _defaults:
        return torch.default_generator
    return generator if generator._cdata in _of_device else None


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

    Generator.__module__, Generator.__qualname__ = base.__module__, base.__qualname__
    return Generator


def _default_of(kind: Any) -> Any:
    class Generator(kind):  # type: ignore[misc]
        """The generator that the device has: what is done with it is done with that of the CPU."""

        def __new__(cls, device: Any) -> Any:
            """Without a look at what the program is shown: it has not begun, and may hide devices yet."""
            made = torch._C.Generator.__new__(cls, "cpu")
            made._wanted = torch.device(device)
            _of_device[made._cdata] = made
            _defaults.add(made._cdata)
            return made

        def set_state(self, new_state: Any) -> Any:
            torch.default_generator.set_state(new_state)
            return self

        def manual_seed(self, seed: int) -> Any:
            torch.default_generator.manual_seed(seed)
            return self

    for name in ("get_state", "initial_seed", "seed"):
        setattr(Generator, name, _asked_of_default(name))
    Generator.__module__, Generator.__qualname__ = kind.__module__, kind.__qualname__
    return Generator


def _asked_of_default(name: str) -> Callable[[Any], Any]:
    def asked(self: Any) -> Any:
        del self
        return getattr(torch.default_generator, name)()

    return asked
