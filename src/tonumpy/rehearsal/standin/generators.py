"""Generators of the device: they draw from the CPU, and say that they are the device's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.state import STATE

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

_Base = torch._C.Generator


class _Meta(type(_Base)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _Base)


class Generator(torch._C.Generator, metaclass=_Meta):  # type: ignore[misc]
    """A generator of the CPU, or of a device as the program sees it."""

    def __new__(cls, device: Any = "cpu") -> Any:
        """Made on the CPU, where the device is a pretended one."""
        place = STATE.place(device)
        made = _Base.__new__(cls, "cpu" if place is not None else device)
        made._place = place or _Base.device.__get__(made)
        return made

    def __init__(self, device: Any = "cpu") -> None:
        """All is made by then."""

    @property
    def device(self) -> Any:
        """The device that the program asked for."""
        return self._place


class _Default(Generator):
    """The default generator of a device, which is that of the CPU."""

    def __new__(cls, device: Any) -> Any:
        """Without a look at what the program is shown: it may hide devices yet."""
        made = _Base.__new__(cls, "cpu")
        made._place = device
        return made

    def set_state(self, new_state: Any) -> Any:
        torch.default_generator.set_state(new_state)
        return self

    def manual_seed(self, seed: int) -> Any:
        torch.default_generator.manual_seed(seed)
        return self

    def get_state(self) -> Any:
        return torch.default_generator.get_state()

    def initial_seed(self) -> int:
        return int(torch.default_generator.initial_seed())

    def seed(self) -> int:
        return int(torch.default_generator.seed())


def patch(patches: Patches, devices: int) -> None:
    """Let programs have them until `patches` are restored."""
    for kind in (Generator, _Default):
        kind.__module__, kind.__qualname__ = _Base.__module__, _Base.__qualname__
    patches.replace(torch, "Generator", Generator)
    module = getattr(torch, STATE.kind, None)
    if hasattr(module, "default_generators"):
        made = tuple(_Default(torch.device(STATE.kind, index)) for index in range(devices))
        patches.replace(module, "default_generators", made)


def generator_for(generator: Any, place: torch.device) -> Any:
    """The generator that torch's own function draws from; RuntimeError for one of another kind of device."""
    if generator.device.type != place.type:
        raise RuntimeError(f"Expected a '{place.type}' device type for generator but found '{generator.device.type}'")
    return torch.default_generator if isinstance(generator, _Base) and type(generator) is _Default else generator
