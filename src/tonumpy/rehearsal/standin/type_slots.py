"""A slot of CPython's type objects, for what is asked of tensors in C; of torch's own libraries nothing is touched.

Where a Python keeps its types otherwise (no GIL, another implementation) it is left as it is.
"""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

# Of PyTypeObject and PySequenceMethods, in words.
_NAME, _SIZE, _AS_SEQUENCE, _ITEM = 3, 4, 13, 3
_WORD = ctypes.sizeof(ctypes.c_void_p)


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
    sequence = _word(kind, _AS_SEQUENCE).value
    if sequence:
        ctypes.c_void_p.from_address(sequence + _ITEM * _WORD).value = None


def _is_as_expected(kind: Any) -> bool:
    """True if a type of this Python lies in memory as it is expected to."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    is_sized: bool = ctypes.c_ssize_t.from_address(id(kind) + _SIZE * _WORD).value == kind.__basicsize__
    name = ctypes.string_at(_word(kind, _NAME).value or 0)
    return is_sized and name.decode(errors="replace").rpartition(".")[2] == kind.__name__


def _word(kind: Any, place: int) -> Any:
    return ctypes.c_void_p.from_address(id(kind) + place * _WORD)
