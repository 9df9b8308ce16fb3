"""`torch.device(0)`, `module.to(0)`, `zeros(2, device=0)`: numbers stand for the accelerator, which C++ cannot find.

`torch.device` stays the type that it is, as programs ask for it: only what it makes of a number is changed, in the
place where CPython keeps that.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.patches import Patches

# Functions and methods that make a tensor, and are no factories of factories.py.
_METHODS = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros")
_OF_FFT = ("fftfreq", "rfftfreq")
# PyTypeObject, in words: its name, the size of its instances, and what makes them.
_NAME, _SIZE, _NEW = 3, 4, 39
_WORD = ctypes.sizeof(ctypes.c_void_p)
_New = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_void_p)


class _MadeInPython:
    def __new__(cls) -> _MadeInPython:
        return super().__new__(cls)


def patch(patches: Patches, names: Names) -> None:
    """Let numbers stand for devices until `patches` are restored."""
    _patch_type(patches, names)
    patches.replace(torch._C._nn, "_parse_to", _with_words(torch._C._nn._parse_to, names.in_words))
    for name in _METHODS:
        patches.replace(torch.Tensor, name, _with_device(getattr(torch.Tensor, name), names.in_words))
    for name in _OF_FFT:
        patches.replace(torch.fft, name, _with_device(getattr(torch.fft, name), names.in_words))


def _with_words(function: Callable[..., Any], in_words: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def parsed(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = in_words(kwargs["device"])
        return function(*(map(in_words, args[:1])), *args[1:], **kwargs)

    return parsed


def _with_device(function: Callable[..., Any], in_words: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("device") is not None:
            kwargs["device"] = in_words(kwargs["device"])
        return function(*args, **kwargs)

    return made


def _patch_type(patches: Patches, names: Names) -> None:
    kind = torch.device
    if not _is_as_expected(kind):
        return
    make = _New(_word(kind, _NEW).value)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and not isinstance(args[0], str):
            args = (names.in_words(args[0]),)
        return make(cls, args, id(kwargs) if kwargs else None)

    (own,) = gc.get_referents(vars(kind))
    patches.on_exit(lambda: ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind)))
    patches.put(own, "__new__", staticmethod(new))
    former = _word(kind, _NEW).value
    patches.on_exit(lambda: setattr(_word(kind, _NEW), "value", former))
    _word(kind, _NEW).value = _word(_MadeInPython, _NEW).value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _is_as_expected(kind: Any) -> bool:
    """Whether a type of this Python lies in memory as we believe: without a GIL it does not."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    is_sized = ctypes.c_ssize_t.from_address(id(kind) + _SIZE * _WORD).value == kind.__basicsize__
    return is_sized and ctypes.string_at(_word(kind, _NAME).value or 0) == b"torch.device"


def _word(kind: Any, place: int) -> Any:
    return ctypes.c_void_p.from_address(id(kind) + place * _WORD)
