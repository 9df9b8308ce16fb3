"""A tensor on the CPU <-> a tensor on the stand-in over the same memory.

DLPack is the way: it is how torch takes a foreign tensor in without a copy, and what it takes in may lie on an
accelerator. Only the kind of device in the capsule is changed on the way.
"""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

INNER = torch.device("maia", 0)  # what the stand-in is in C++
MOST_DEVICES = 64
_INNERS = tuple(torch.device("maia", index) for index in range(MOST_DEVICES))
_to_capsule = torch._C._to_dlpack
_from_capsule = torch._C._from_dlpack
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_int32 = ctypes.c_int32.from_address
_DEVICE_TYPE = ctypes.sizeof(ctypes.c_void_p)  # DLTensor: the data pointer, then the kind and the number of the device
_DEVICE_NUMBER = _DEVICE_TYPE + ctypes.sizeof(ctypes.c_int32)
_HOST, _STANDIN = 1, 17  # kDLCPU, kDLMAIA
_BYTES = {1: torch.uint8, 2: torch.int16, 4: torch.int32}  # in their place go dtypes that DLPack does not know


on_device: list[Callable[[Any], None]] = []  # what is told of each tensor there, while somebody counts them (usage.py)


class _Here(threading.local):
    """The number of the device that is current in a thread: where a kernel computes, and what "cuda" alone means."""

    number = 0


here = _Here()


def inner_at(number: int | None) -> Any:
    """One of several devices as C++ knows it; None is the current one."""
    return _INNERS[here.number if number is None else number]


def is_inner(value: Any) -> bool:
    """Whether an argument is the stand-in, in C++'s words."""
    return isinstance(value, torch.device) and value.type == "maia"


def number_of(tensor: Any) -> int:
    """Of the device on which a tensor of the stand-in lies."""
    return int(torch._C.TensorBase.device.__get__(tensor).index)


def to_host(tensor: Any) -> Any:
    """The memory of a strided tensor of the stand-in as a tensor on the CPU. It may have neither bit set."""
    return _moved(tensor, _HOST)


def to_device(tensor: Any) -> Any:
    """The memory of a strided tensor on the CPU as a tensor of the stand-in, on the current device."""
    made = _moved(tensor, _STANDIN)
    if on_device:
        on_device[0](made)
    return made


def _moved(tensor: Any, kind: int) -> Any:
    try:
        capsule = _to_capsule(tensor)
    except (RuntimeError, BufferError):
        if tensor.is_quantized or tensor.itemsize not in _BYTES:
            raise
        return _moved(tensor.view(_BYTES[tensor.itemsize]), kind).view(tensor.dtype)
    address = _pointer(capsule, b"dltensor")
    _int32(address + _DEVICE_TYPE).value = kind
    if here.number and kind == _STANDIN:
        _int32(address + _DEVICE_NUMBER).value = here.number
    return _from_capsule(capsule)


def to_host_with_bits(tensor: Any) -> Any:
    """The same for a tensor whose conjugate or negative bit may be set: so are those of the tensor on the CPU."""
    is_conj, is_neg = tensor.is_conj(), tensor.is_neg()
    if is_conj:
        tensor = tensor.conj()
    if is_neg:
        tensor = torch._neg_view(tensor)
    host = to_host(tensor)
    if is_neg:
        host = torch._neg_view(host)
    return host.conj() if is_conj else host


def to_device_with_bits(tensor: Any) -> Any:
    """The same the other way round."""
    if tensor.is_neg():
        return torch._neg_view(to_device_with_bits(torch._neg_view(tensor)))
    if tensor.dtype.is_complex and tensor.is_conj():
        return to_device(tensor.conj()).conj()
    return to_device(tensor)
