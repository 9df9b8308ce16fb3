"""How much memory of the device is in use: the storages of the stand-in, counted from the first time that one asks.

A program that never asks pays nothing. What was there before is found among the objects of Python.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import torch

from tonumpy.rehearsal.standin import memory

_BLOCK, _SEGMENT = 512, 2 * 2**20  # what torch rounds a tensor up to, and what it takes from the device at once


class Usage:
    """Counts bytes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self.allocated = self.peak = self.reserved = self.peak_reserved = 0

    def begin(self) -> None:
        """Count from now on."""
        if memory.on_device:
            return
        memory.on_device.append(self.note)
        for each in gc.get_objects():
            if issubclass(type(each), torch.Tensor) and each.is_maia and each.layout is torch.strided:
                self.note(each)

    def end(self) -> None:
        """Count no more."""
        memory.on_device.clear()

    def note(self, tensor: Any) -> None:
        """A tensor that was put on the device."""
        storage = tensor.untyped_storage()
        key = id(storage)
        if key in self._known:
            return
        size = -(-storage.nbytes() // _BLOCK) * _BLOCK
        self._known[key] = (weakref.ref(storage, lambda _: self._gone(key)), size)
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        self.reserved = max(self.reserved, -(-self.allocated // _SEGMENT) * _SEGMENT)
        self.peak_reserved = max(self.peak_reserved, self.reserved)

    def _gone(self, key: int) -> None:
        self.allocated -= self._known.pop(key)[1]

    def reset_peak(self) -> None:
        """Forget the most that there was."""
        self.begin()
        self.peak, self.peak_reserved = self.allocated, self.reserved

    def empty_cache(self) -> None:
        """Give back what is not in use."""
        self.reserved = -(-self.allocated // _SEGMENT) * _SEGMENT

    def asked(self, name: str) -> int:
        """One of the numbers."""
        self.begin()
        return int(getattr(self, name))
