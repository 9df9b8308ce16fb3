"""Storages of the stand-in: they say where they lie in the program's words, and are copied, saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.falling_back import falling_back
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.patches import Patches

Storage = torch.UntypedStorage


def patch(patches: Patches, names: Names) -> None:
    """Make storages work until `patches` are restored."""
    inner, outer, kind = names.inner, names.outer, names.kind
    device_of = torch._C.StorageBase.device.__get__
    clone = Storage.clone

    def device(self: Any) -> Any:
        return outer(device_of(self))

    def is_kind(self: Any) -> bool:
        return bool(device_of(self).type == "maia")

    def clone_(self: Any) -> Any:
        at = device_of(self)
        return clone(self) if at.type != "maia" else _tensor(self, at).clone().untyped_storage()

    def move(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        del non_blocking
        at, there = device_of(self), inner(kind if device is None else device)
        return self if at == there else _tensor(self, at).to(there).untyped_storage()

    def to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
        wanted = torch.device(device)
        if wanted.type == kind:
            return move(self, wanted)
        return self if wanted == device_of(self) else torch._utils._to(self, wanted, non_blocking)

    resize, nbytes, shrunk = Storage.resize_, Storage.nbytes, dict[int, int]()

    def resize_(self: Any, size: int) -> Any:
        if device_of(self).type != "maia":
            return resize(self, size)
        if size > nbytes(self):
            warn("UntypedStorage.resize_: on a stand-in accelerator memory does not grow, and stays as it is")
        shrunk[self._cdata] = min(size, nbytes(self))  # the memory is kept, as tensors go on to lie there
        return self

    def nbytes_(self: Any) -> int:
        return shrunk.get(self._cdata, int(nbytes(self))) if device_of(self).type == "maia" else int(nbytes(self))

    patches.replace(Storage, "device", property(device))
    patches.replace(Storage, f"is_{kind}", property(is_kind))
    methods: dict[str, Any] = {"clone": clone_, kind: move, "to": to, "resize_": resize_}
    methods |= {"nbytes": nbytes_, "size": nbytes_}
    for name, function in methods.items():
        function.__name__ = name
        function.__qualname__ = f"UntypedStorage.{name}"
        old = getattr(Storage, "clone" if name == kind else name)
        patches.replace(Storage, name, falling_back(function.__qualname__, function, old, names.inner))


def _tensor(storage: Any, device: Any) -> Any:
    """The bytes of a storage."""
    return torch.empty(0, dtype=torch.uint8, device=device).set_(storage)
