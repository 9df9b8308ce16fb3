"""Storages of the stand-in: they say where they lie in the program's words, and are copied, saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.memory import INNER

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.patches import Patches

Storage = torch.UntypedStorage


def patch(patches: Patches, names: Names) -> None:
    """Make storages work until `patches` are restored."""
    seen, kind = names.device, names.kind
    device_of = torch._C.StorageBase.device.__get__
    clone = Storage.clone

    def device(self: Any) -> Any:
        found = device_of(self)
        return seen if found.type == "maia" else found

    def is_kind(self: Any) -> bool:
        return bool(device_of(self).type == "maia")

    def clone_(self: Any) -> Any:
        return clone(self) if device_of(self).type != "maia" else _tensor(self, INNER).clone().untyped_storage()

    def move(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        del device, non_blocking
        at = device_of(self)
        return self if at.type == "maia" else _tensor(self, at).to(INNER).untyped_storage()

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        wanted = torch.device(device)
        if wanted.type == kind:
            return move(self)
        return self if wanted == device_of(self) else torch._utils._to(self, wanted, non_blocking)

    patches.replace(Storage, "device", property(device))
    patches.replace(Storage, f"is_{kind}", property(is_kind))
    for name, function in (("clone", clone_), (kind, move), ("to", to)):
        function.__name__ = name
        function.__qualname__ = f"UntypedStorage.{name}"
        patches.replace(Storage, name, function)


def _tensor(storage: Any, device: Any) -> Any:
    """The bytes of a storage."""
    return torch.empty(0, dtype=torch.uint8, device=device).set_(storage)
