"""Tensors that are taken for values -> what the run is told of: keys, members of sets, and indices of one element.

Python's sets and dicts ask a tensor for its hash, which is that of the object: one of a single number is told, as its
equals will not be found. Not one that requires grad: parameters are keys by what they are; nor where an item is read by
its key, which is found for this very tensor or raises. What libraries take for values, values_in_libraries.py tells.
"""

from __future__ import annotations

import ast
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.frames import UNKNOWN, is_own, node_at, value_of
from tonumpy.rehearsal.standin.values_in_libraries import TakenByLibraries
from tonumpy.sinks.taken.words import IDENTITY, said

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from tonumpy.rehearsal.standin.patches import Patches
    from tonumpy.rehearsal.standin.reporting import Reports

_COUNTING = ("collections", "statistics")  # what a tensor's hash is asked for in, on behalf of who calls
_KEEPING = frozenset("__repr__ most_common copy __copy__ elements __reduce__ __eq__ __ne__".split())  # old keys


class Taken:
    """Tells of tensors that are taken for values."""

    def __init__(self, reports: Reports) -> None:
        self._tell = partial(reports.tell, "taken for values")

    def patch(self, patches: Patches) -> None:
        """Notice them until `patches` are restored."""
        patches.replace(torch.Tensor, "__hash__", self._hashing())
        patches.around(torch.Tensor, "__index__", self._index)
        TakenByLibraries(self._tell).patch(patches)

    def _hashing(self) -> Callable[[Any], int]:
        def hash_of(tensor: Any) -> int:
            """The identity, as torch has it."""
            if tensor.requires_grad or tensor.dim():
                return id(tensor)
            frame = sys._getframe(1)
            while _is_between(frame) and frame.f_back is not None:
                if frame.f_code.co_name in _KEEPING:
                    return id(tensor)
                frame = frame.f_back
            if is_own(frame.f_code.co_filename) and not _finds_itself(frame):
                self._tell(tensor, f"a tensor is a key, or a member of a set: {IDENTITY}")
            return id(tensor)

        return hash_of

    def _index(self, index: Callable[[Any], int], tensor: Any) -> int:
        frame = sys._getframe(2)
        is_one = tensor.dim() and tensor.numel() == 1
        # What is put in one place is put in the row of one, too, but for a mask that is False.
        is_meant = reads_item(frame) or (is_index(frame) and tensor.dtype == torch.bool)
        if is_one and is_own(frame.f_code.co_filename) and is_meant and _is_array(indexed(frame)):
            self._tell(tensor, f"indexing an array takes a tensor for values: {said('axis', 'numpy', '')}")
        return index(tensor)


def _is_between(frame: FrameType) -> bool:
    """True for a frame that counts on behalf of its caller, one of ours that looks at that, and a method that
    dataclasses have written."""
    name = frame.f_globals.get("__name__") or ""
    code = frame.f_code
    is_written = code.co_name == "__hash__" and code.co_filename.startswith("<")
    return name in _COUNTING or name.startswith("tonumpy.") or is_written


def _finds_itself(frame: FrameType) -> bool:
    """True if an item is read by its key: that of this very tensor, or none, unless one is made then."""
    return reads_item(frame) and not hasattr(indexed(frame), "default_factory")


def _is_array(value: Any) -> bool:
    """True if an index of several numbers would have been taken: a list takes none."""
    return value is UNKNOWN or type(value).__module__.partition(".")[0] == "numpy"


def is_index(frame: FrameType) -> bool:
    """True if something is taken out of, or put into, an object by an index."""
    return node_at(frame, ast.Subscript) is not None


def reads_item(frame: FrameType) -> bool:
    """True if something is taken out of an object by its index or key."""
    node = node_at(frame, ast.Subscript)
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)


def indexed(frame: FrameType) -> Any:
    """The object that is indexed there, where that is a name or an attribute of one; else UNKNOWN."""
    node = node_at(frame, ast.Subscript)
    return value_of(node.value, frame) if isinstance(node, ast.Subscript) else UNKNOWN
