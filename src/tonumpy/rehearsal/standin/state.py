"""State that all parts share: what a mark is, the kind of device, how many there are, and which one is current."""

from __future__ import annotations

import functools
import os
import threading
from dataclasses import dataclass
from numbers import Integral

import torch

_VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
NO_DEVICE = "No CUDA GPUs are available"
CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Mark:
    """A place. `excused`: the tensor lies on the device only because of a fault that was reported.

    `is_rare`: operators ask more than this mark, as it may stand for another one.
    """

    place: torch.device
    pretended: bool = False
    excused: bool = False
    is_rare: bool = False


# Made by C++ out of sight: it may lie anywhere, and is never part of a finding.
UNKNOWN = Mark(CPU, is_rare=True)
HOST = Mark(CPU)


class _PerThread(threading.local):
    """`number`: the current device. `backward`: for each running backward pass the mark of its roots."""

    def __init__(self) -> None:
        self.number = 0
        self.backward: list[Mark] = []


class State:
    """One for a process, begun anew by each `pretend`."""

    kind = "cuda"

    def __init__(self) -> None:
        self.here = _PerThread()
        self._devices = 1
        self._shown: int | None = None
        self._places: list[torch.device] = []

    def begin(self, kind: str, devices: int) -> None:
        self.kind, self._devices, self._shown = kind, devices, None
        self._places = [torch.device(kind, index) for index in range(devices)]
        self.here.number = 0

    @property
    def count(self) -> int:
        """How many devices the program is shown; CUDA_VISIBLE_DEVICES is read once, as CUDA does."""
        if self._shown is None:
            said = os.environ.get(_VISIBLE_DEVICES) if self.kind == "cuda" else None
            self._shown = visible(said, self._devices)
        return self._shown

    def begin_device(self) -> None:
        """Raise RuntimeError where no device is shown."""
        if not self.count:
            raise RuntimeError(NO_DEVICE)

    def place(self, value: object) -> torch.device | None:
        """The pretended device that a value names, with its index; None where it names none, or another kind.

        Raises torch's error for an index that no device has.
        """
        if isinstance(value, str):
            if not value.startswith(self.kind):
                return None
            value = _device_of(value)
        elif type(value) is not torch.device and isinstance(value, Integral) and not isinstance(value, bool):
            value = torch.device(self.kind, int(value))
        if not isinstance(value, torch.device) or value.type != self.kind:
            return None
        count = self.count
        if not count:
            raise RuntimeError(NO_DEVICE)
        index = self.here.number if value.index is None else value.index
        if not 0 <= index < count:
            raise ordinal_error(self.kind)
        return self._places[index]


@functools.lru_cache
def _device_of(text: str) -> torch.device:
    return torch.device(text)


STATE = State()


class on_device:  # noqa: N801 -- as torch's own
    """Context manager that makes a device the current one of the thread; None changes nothing."""

    def __init__(self, number: int | None) -> None:
        self._number = number

    def __enter__(self) -> None:
        self._former = STATE.here.number
        if self._number is not None:
            STATE.here.number = self._number

    def __exit__(self, *error: object) -> None:
        STATE.here.number = self._former


def ordinal_error(kind: str) -> Exception:
    """torch's error for the index of a device that is not there."""
    error = getattr(torch, "AcceleratorError", RuntimeError) if kind == "cuda" else RuntimeError
    made: Exception = error(
        f"{kind.upper()} error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?"
    )
    return made


def visible(said: str | None, count: int) -> int:
    """How many of `count` devices CUDA_VISIBLE_DEVICES shows: those up to the first that does not exist."""
    if said is None:
        return count
    found = dict[str, None]()
    for each in said.split(","):
        word = each.strip()
        if not ((word.isdecimal() and int(word) < count) or word.startswith(("GPU-", "MIG-"))):
            break
        found[word] = None
    return min(len(found), count)
