"""What the program calls the device <-> what torch's C++ calls it.

In C++ the stand-in is a device of a kind that no build of torch has, so that nothing there gets in its way. The program
says and sees the name that it was promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

Tensor = torch.Tensor
_Base = torch._C.TensorBase
INNER = torch.device("maia", 0)


class Names:
    """Both names of the device."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.device = torch.device(kind, 0)

    def inner(self, value: Any) -> Any:
        """An argument that may say a device, in C++'s words."""
        if isinstance(value, str):
            if not value.startswith(self.kind):
                return value
            value = torch.device(value)
        if isinstance(value, torch.device):
            return INNER if value.type == self.kind else value
        if isinstance(value, int) and not isinstance(value, bool):
            return INNER
        return value

    def in_text(self, text: str) -> str:
        """A message of torch in the program's words."""
        return text.replace("maia", self.kind).replace("MAIA", self.kind.upper())

    def patch(self, patches: Patches) -> None:
        """Let tensors speak the program's words until `patches` are restored."""
        seen, inner, kind = self.device, self.inner, self.kind
        device_of, to, type_of = _Base.device.__get__, _Base.to, _Base.type

        def device(self: Any) -> Any:
            found = device_of(self)
            return seen if found.type == "maia" else found

        def is_kind(self: Any) -> bool:
            return bool(self.is_maia)

        def to_(self: Any, *args: Any, **kwargs: Any) -> Any:
            if "device" in kwargs:
                kwargs["device"] = inner(kwargs["device"])
            return to(self, *map(inner, args), **kwargs)

        def move(self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
            del device
            return to(self, INNER, non_blocking=non_blocking, **kwargs)

        def type_(self: Any, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
            if dtype is None:
                return type_of(self).replace("torch.maia.", f"torch.{kind}.")
            return type_of(self, dtype, non_blocking, **kwargs)

        patches.replace(Tensor, "device", property(device))
        patches.replace(Tensor, f"is_{kind}", property(is_kind))
        for name, function in (("to", to_), (kind, move), ("type", type_)):
            function.__name__ = name
            function.__qualname__ = f"Tensor.{name}"
            patches.replace(Tensor, name, function)
