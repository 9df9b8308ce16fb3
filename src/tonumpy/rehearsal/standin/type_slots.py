"""Two slots of CPython's type objects, for what torch asks of types in C; of torch's own libraries nothing is touched.

Where a Python keeps its types otherwise (no GIL, another implementation) both are left as they are.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from numbers import Integral
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.state import STATE

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

# Of PyTypeObject and PySequenceMethods, in words.
_NAME, _SIZE, _AS_SEQUENCE, _NEW, _ITEM = 3, 4, 13, 39, 3
_WORD = ctypes.sizeof(ctypes.c_void_p)
_New = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_void_p)


class _MadeInPython:
    def __new__(cls) -> _MadeInPython:
        return super().__new__(cls)


def keep_tensors_from_being_sequences(patches: Patches) -> None:
    """A `__getitem__` in Python makes a sequence of a class for code in C (pandas asks); a tensor is none."""

    def __init_subclass__(cls: Any, /, **options: Any) -> None:  # noqa: ARG001, N807
        _clear_item(cls)

    patches.replace(torch.Tensor, "__init_subclass__", classmethod(__init_subclass__))
    waiting = [torch.Tensor]
    while waiting:
        kind = waiting.pop()
        _clear_item(kind)
        waiting += kind.__subclasses__()


def _clear_item(kind: type) -> None:
    if not _is_as_expected(kind):
        return
    sequence = ctypes.c_void_p.from_address(id(kind) + _AS_SEQUENCE * _WORD).value
    if sequence:
        ctypes.c_void_p.from_address(sequence + _ITEM * _WORD).value = None


def let_numbers_name_devices(patches: Patches) -> None:
    """Let `torch.device(0)` name the accelerator, which C++ cannot find, until `patches` are restored.

    `torch.device` stays the type that it is, as programs ask for it: only its `__new__` is another.
    """
    kind = torch.device
    if not _is_as_expected(kind):
        return
    make = _New(_word(kind, _NEW).value)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        is_number = len(args) == 1 and not kwargs and isinstance(args[0], Integral) and not isinstance(args[0], bool)
        if is_number:
            args = (make(cls, (STATE.kind, int(args[0])), None),)
        return make(cls, args, id(kwargs) if kwargs else None)

    (own,) = gc.get_referents(vars(kind))
    patches.on_exit(lambda: ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind)))
    patches.put(own, "__new__", staticmethod(new))
    former = _word(kind, _NEW).value
    patches.on_exit(lambda: setattr(_word(kind, _NEW), "value", former))
    _word(kind, _NEW).value = _word(_MadeInPython, _NEW).value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def _is_as_expected(kind: Any) -> bool:
    """True if a type of this Python lies in memory as it is expected to."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    is_sized: bool = ctypes.c_ssize_t.from_address(id(kind) + _SIZE * _WORD).value == kind.__basicsize__
    name = ctypes.string_at(_word(kind, _NAME).value or 0)
    return is_sized and name.decode(errors="replace").rpartition(".")[2] == kind.__name__


def _word(kind: Any, place: int) -> Any:
    return ctypes.c_void_p.from_address(id(kind) + place * _WORD)
