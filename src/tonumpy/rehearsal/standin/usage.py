"""How much memory of the device is in use: the storages of the stand-in, counted from the first time that one asks.

A program that never asks pays nothing. What was there before is found among the objects of Python.
"""

from __future__ import annotations

import gc
import weakref
from collections import defaultdict
from typing import Any

import torch

from tonumpy.rehearsal.standin import memory

_BLOCK, _SEGMENT = 512, 2 * 2**20  # what torch rounds a tensor up to, and what it takes from the device at once


class _Device:
    """The bytes of one device."""

    def __init__(self) -> None:
        self.allocated = self.peak = self.reserved = self.peak_reserved = 0

    def add(self, size: int) -> None:
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        self.reserved = max(self.reserved, _segments(self.allocated))
        self.peak_reserved = max(self.peak_reserved, self.reserved)


class Usage:
    """Counts bytes, for each device by its number."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int, _Device]] = {}
        self._devices: defaultdict[int, _Device] = defaultdict(_Device)

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
        device = self._devices[memory.number_of(tensor)]
        self._known[key] = (weakref.ref(storage, lambda _: self._gone(key)), size, device)
        device.add(size)

    def _gone(self, key: int) -> None:
        _, size, device = self._known.pop(key)
        device.allocated -= size

    def reset_peak(self, number: int) -> None:
        """Forget the most that there was."""
        self.begin()
        device = self._devices[number]
        device.peak, device.peak_reserved = device.allocated, device.reserved

    def empty_cache(self) -> None:
        """Give back what is not in use."""
        for device in self._devices.values():
            device.reserved = _segments(device.allocated)

    def asked(self, name: str, number: int) -> int:
        """One of the numbers of a device."""
        self.begin()
        return int(getattr(self._devices[number], name))


def _segments(size: int) -> int:
    return -(-size // _SEGMENT) * _SEGMENT
