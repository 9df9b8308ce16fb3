"""`CUDA_VISIBLE_DEVICES`: how many devices the program is shown, as CUDA reads it once, when it is first asked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.falling_back import NO_DEVICE

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.patches import Patches

_VARIABLE = "CUDA_VISIBLE_DEVICES"


class Visible:
    """Shows no more of the devices than the environment does."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._count: int | None = None

    def guard(self) -> None:
        """Let a device that is named raise, where none is shown."""
        inner = self._names.inner

        def asked(value: Any) -> Any:
            found = inner(value)
            if found is not value and not self._count:
                self._begin()
            return found

        if self._names.kind == "cuda":
            self._names.inner = asked  # type: ignore[method-assign]

    def patch(self, patches: Patches) -> None:
        """Let torch answer so until `patches` are restored."""
        answers = {
            "is_available": self._is_available,
            "device_count": self._counted,
            "init": self._begin,
            "_lazy_init": self._begin,
        }
        for module in (torch.cuda, torch.accelerator) if self._names.kind == "cuda" else ():
            for name, answer in answers.items():
                if hasattr(module, name):
                    patches.replace(module, name, answer)

    def _counted(self) -> int:
        if self._count is None:
            self._count = visible(os.environ.get(_VARIABLE), self._names.count)
        return self._count

    def _is_available(self) -> bool:
        return self._counted() > 0

    def _begin(self) -> None:
        if not self._counted():
            raise RuntimeError(NO_DEVICE)


def visible(said: str | None, count: int) -> int:
    """Of a list, the devices up to the first that is not there; a device that is named by its UUID is taken for one."""
    if said is None:
        return count
    found = dict[str, None]()
    for each in said.split(","):
        word = each.strip()
        is_there = (word.isdecimal() and int(word) < count) or word.startswith(("GPU-", "MIG-"))
        if not is_there:
            break
        found[word] = None
    return min(len(found), count)
