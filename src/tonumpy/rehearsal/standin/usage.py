"""Counts the memory of the device that is in use: marked storages, from the first time that the program asks.

A program that never asks pays nothing: the attribute `mark` becomes a property then. What was there before is found
among the objects of Python.
"""

from __future__ import annotations

import gc
import weakref
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tonumpy.rehearsal.standin.marks import Storage
from tonumpy.rehearsal.standin.state import UNKNOWN

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

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

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self._known: dict[int, tuple[weakref.ref[Any], int, _Device]] = {}
        self._devices: defaultdict[int, _Device] = defaultdict(_Device)
        self._has_begun = False

    def begin(self) -> None:
        """Count from now on."""
        if self._has_begun:
            return
        self._has_begun = True
        note = self._note

        def mark_of(storage: Any) -> Any:
            return storage.__dict__.get("mark", UNKNOWN)

        def set_mark(storage: Any, mark: Any) -> None:
            storage.__dict__["mark"] = mark
            if mark.pretended:
                note(storage)

        self._patches.replace(Storage, "mark", property(mark_of, set_mark))
        for each in gc.get_objects():
            if type(each) is Storage and each.mark.pretended:
                note(each)

    def _note(self, storage: Any) -> None:
        key = id(storage)
        if key in self._known:
            return
        size = -(-storage.nbytes() // _BLOCK) * _BLOCK
        device = self._devices[storage.mark.place.index]
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
