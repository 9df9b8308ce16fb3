"""Marks, the pretended devices of tensors; and the state that all parts share: the kind and number of devices.

A tensor of the stand-in is an ordinary CPU tensor; the Python object of its storage has an attribute `mark`. Torch
keeps that object as long as the storage itself, so views, `.data`, parameters and saved tensors share the mark. A
subclass of storage instead would make torch 2.6 and 2.9 abort in the garbage collector.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from dataclasses import dataclass
from itertools import takewhile
from numbers import Integral
from types import FrameType
from typing import Any, cast

import torch
from torch.utils.weak import WeakIdKeyDictionary

from tonumpy.rehearsal.frames import is_own
from tonumpy.rehearsal.standin.patches import Patches

_VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
NO_DEVICE = "No CUDA GPUs are available"
_NO_SUCH_DEVICE = "GPU device may be out of range, do you have enough GPUs?"
CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Mark:
    """A device. `excused`: the tensor lies on it only because of a fault that was reported.

    `is_rare`: operators take the slow path, as the mark alone does not decide.
    """

    place: torch.device
    pretended: bool = False
    excused: bool = False
    is_rare: bool = False


# The mark of tensors that C++ made unobserved: they may be on any device, and are never part of a finding.
UNKNOWN = Mark(CPU, is_rare=True)
HOST = Mark(CPU)


class _PerThread(threading.local):
    """The state of a thread.

    `number`: the current device. `backward`: for each running backward pass the mark of its roots. `streams`: the stack
    of current streams, each with the device that was current before. `is_converting`: a conversion of a subclass, or
    under a mode, is running. `is_in_library`: a watched library function is running.
    """

    def __init__(self) -> None:
        self.number = 0
        self.backward: list[Mark] = []
        self.streams: list[tuple[Any, int]] = []
        self.is_converting = False
        self.is_in_library = False


class State:
    """The state of the process, reset by each `pretend`."""

    kind = "cuda"
    has_cast = False  # autocast may have been enabled

    def __init__(self) -> None:
        self.here = _PerThread()
        self._devices = 1
        self._shown: int | None = None
        self._known: dict[object, torch.device | None] = {}  # a cache: each move asks

    def begin(self, kind: str, devices: int) -> None:
        self.kind, self._devices, self._shown = kind, devices, None
        self.here.number, self.has_cast, self._known = 0, False, {None: None}

    @property
    def count(self) -> int:
        """The number of visible devices; CUDA_VISIBLE_DEVICES is read once, as by CUDA."""
        if self._shown is None:
            said = os.environ.get(_VISIBLE_DEVICES) if self.kind == "cuda" else None
            self._shown = visible(said, self._devices)
        return self._shown

    def place(self, value: object) -> torch.device | None:
        """The pretended device that a value names, with its index; None where it names none, or another kind.

        Raises torch's error for an index that no device has.
        """
        try:
            return self._known[value]
        except (KeyError, TypeError):
            pass
        if isinstance(value, (str, torch.device)):
            kind, index = parts_of(value)
        elif isinstance(value, Integral) and not isinstance(value, bool):
            kind, index = parts_of(torch.device(self.kind, int(value)))
        else:
            return None
        if kind != self.kind:
            self._known[value] = None
            return None
        if not self.count:
            raise RuntimeError(NO_DEVICE)
        place = torch.device(kind, self.here.number if index is None else index)
        if not 0 <= place.index < self.count:
            error = getattr(torch, "AcceleratorError", RuntimeError) if self.kind == "cuda" else RuntimeError
            raise error(f"{self.kind.upper()} error: invalid device ordinal\n{_NO_SUCH_DEVICE}")
        if index is not None or self.count == 1:
            self._known[value] = place
        return place


@functools.lru_cache
def parts_of(device: str | torch.device) -> tuple[str, int | None]:
    """The kind and the index of a device, cached: torch makes them anew at each access."""
    named = torch.device(device)
    return named.type, named.index


STATE = State()


def visible(said: str | None, count: int) -> int:
    """The number of `count` devices that CUDA_VISIBLE_DEVICES shows: those before the first that does not exist."""
    if said is None:
        return count

    def is_there(word: str) -> bool:
        return (word.isdecimal() and int(word) < count) or word.startswith(("GPU-", "MIG-"))

    return min(count, len(set(takewhile(is_there, map(str.strip, said.split(","))))))


Tensor = torch.Tensor
Base = torch._C.TensorBase
Storage = torch.UntypedStorage
storage_of = Base.untyped_storage
_device_of_storage = Storage.device.__get__
# Errors of tensors without a storage: sparse ones, functorch's wrappers, lazy parameters.
WITHOUT_STORAGE = (NotImplementedError, RuntimeError, ValueError)
Parameter = torch.nn.Parameter
PLAIN_TYPES = frozenset((Tensor, Parameter))  # without a `__torch_function__` of the program's
count_modes = torch._C._len_torch_function_stack
_functorch = torch._C._functorch


class _Bare:
    """Holds the mark of a tensor without a storage; an attribute of the tensor would be pickled with it."""

    mark = UNKNOWN


_bare = WeakIdKeyDictionary()


@functools.cache
def on(place: torch.device, *, excused: bool = False) -> Mark:
    """The mark of a device."""
    return Mark(place, place.type != "cpu", excused)


def at(device: Any) -> Mark:
    """The mark for the device that a program names; HOST for None, UNKNOWN for a device that is neither the stand-in's
    nor the CPU."""
    if device is None or device is CPU:
        return HOST
    place = STATE.place(device)
    if place is not None:
        return on(place)
    return HOST if parts_of(device)[0] == "cpu" else UNKNOWN


def patch(patches: Patches) -> None:
    """Patch storages to report their pretended device, and to give it to their copies."""
    device = _device_of_storage
    patches.replace(Storage, "mark", UNKNOWN)
    patches.replace(Storage, "device", property(lambda self: self.mark.place if self.mark.pretended else device(self)))
    patches.replace(Storage, f"is_{STATE.kind}", property(lambda self: self.mark.pretended))
    patches.around(
        Storage, "clone", lambda clone, self: _copied(self, self.mark) if self.mark.pretended else clone(self)
    )
    patches.around(Storage, "__reduce__", _reduced)
    patches.replace(Storage, "to", _storage_to)
    patches.replace(Storage, STATE.kind, _storage_there)


def _reduced(reduce: Any, storage: Any) -> Any:
    return (_received, (storage.cpu(), storage.mark)) if storage.mark.pretended else reduce(storage)


def _storage_to(self: Any, *, device: Any, non_blocking: bool = False) -> Any:
    del non_blocking
    mark = at(device)
    return self if self.mark.place == mark.place else _copied(self, mark)


def _storage_there(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
    return _storage_to(self, device=STATE.kind if device is None else device, non_blocking=non_blocking)


def _copied(storage: Any, mark: Mark) -> Any:
    made = Storage(storage.nbytes())
    made.copy_(storage)
    made.mark = mark
    return made


def _received(storage: Any, mark: Mark) -> Any:
    storage.mark = mark
    return storage


def mark_of(tensor: Any) -> Mark:
    """The mark of a tensor; an unmarked one in a backward pass gets the mark of the pass's roots."""
    kind = type(tensor)
    if (kind is Tensor or kind is Parameter) and not count_modes():
        try:
            mark: Mark = storage_of(tensor).mark
            if mark is not UNKNOWN:
                return mark
        except WITHOUT_STORAGE:
            pass
    holder = holder_of(tensor)
    if holder.mark is UNKNOWN and STATE.here.backward:
        holder.mark = STATE.here.backward[-1]
    return cast(Mark, holder.mark)


def holder_of(tensor: Any) -> Any:
    """The object that has the `mark` of a tensor: its storage, if there is one."""
    if type(tensor) in PLAIN_TYPES and not count_modes():
        return _holder(tensor)
    with torch._C.DisableTorchFunction():  # hide our queries from the program's modes and subclasses
        return _holder(tensor)


def _holder(tensor: Any) -> Any:
    try:
        storage = storage_of(tensor)
        # A fake tensor has a meta storage, but answers itself on which device it is.
        is_meta = tensor.is_meta if type(tensor) in PLAIN_TYPES else _device_of_storage(storage).type == "meta"
        return _Bare() if is_meta else storage
    except WITHOUT_STORAGE:
        if _functorch.is_functorch_wrapped_tensor(tensor):
            return _holder(_functorch.get_unwrapped(tensor))
        if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
            return _holder(tensor.data)
        return _bare.setdefault(tensor, _Bare())


def first_of(found: list[Mark]) -> Mark:
    """The mark of a result from tensors with these marks: the first pretended one, else the first."""
    return next((each for each in found if each.pretended), found[0] if found else UNKNOWN)


def put(tensor: Any, mark: Mark) -> Any:
    """Mark a tensor unless it has a mark, and return the holder of the mark."""
    holder = holder_of(tensor)
    if holder.mark is UNKNOWN:
        holder.mark = mark
    return holder


def put_all(result: Any, mark: Mark) -> Any:
    """Mark the tensors in an operator's result, and return the result."""
    kind = type(result)
    if kind in PLAIN_TYPES or isinstance(result, Tensor):
        put(result, mark)
    elif kind is list or isinstance(result, tuple):
        for each in result:
            if type(each) is Tensor:
                put(each, mark)
            else:
                put_all(each, mark)
    return result


def tensors_in(values: Any) -> list[Any]:
    """The tensors among the arguments of an operator, also in lists and dicts."""
    found: list[Any] = []
    for each in values:
        if type(each) in PLAIN_TYPES:
            found.append(each)
        elif isinstance(each, (list, tuple)):
            found += tensors_in(each)
        elif isinstance(each, dict):
            found += tensors_in(each.values())
        elif isinstance(each, Tensor):
            found.append(each)
    return found


def is_pretended(value: object) -> bool:
    """True if a value is a tensor of the stand-in."""
    return isinstance(value, Tensor) and mark_of(value).pretended


_MOST_FRAMES = 60


def note_origin(holder: Any, how: str, depth: int = 2) -> None:
    """Record the user's running line, in the holder of a mark, as the origin of the tensor."""
    frame: FrameType | None = sys._getframe(depth)
    left = _MOST_FRAMES
    while frame is not None and left:  # for each new tensor, so it must be fast
        if is_own(frame.f_code.co_filename):
            holder.origin = how, frame.f_code, frame.f_lasti
            break
        frame, left = frame.f_back, left - 1
