"""Reports tensors that are mistaken for values: keys and members of sets, indices of one element, masks of uint8.

Python's sets and dicts hash a tensor by the identity of the object. A 0-d tensor as a key is reported, as equal tensors
will not be found, unless it requires grad (parameters are keys by identity) or only reads an item (`d[key]` finds this
very tensor or raises). values_in_libraries.py reports tensors that libraries take for values.

NumPy hands the result of a boolean ufunc back to the tensor, and torch makes uint8 of its booleans. That uint8 is
reported where it is inverted, or indexes an array; so are tensors that share its memory or are computed of such ones
by `&`, `|` and the like.
"""

from __future__ import annotations

import ast
import sys
import weakref
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from types import FrameType
from typing import Any

import numpy as np
import torch

from tonumpy.detectors.taken.words import IDENTITY, said
from tonumpy.rehearsal.frames import UNKNOWN, is_own, node_at, outward, tree_of, value_of
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.reporting import Reports
from tonumpy.rehearsal.standin.values_in_libraries import TakenByLibraries
from tonumpy.text.syntax import walk

_COUNTING = ("collections", "statistics")  # modules that hash tensors on behalf of their callers
_KEEPING = frozenset("__repr__ most_common copy __copy__ elements __reduce__ __eq__ __ne__".split())  # old keys


class Taken:
    """Reports tensors that are taken for values."""

    def __init__(self, reports: Reports) -> None:
        self._tell = partial(reports.tell, "taken for values")

    def patch(self, patches: Patches) -> None:
        """Patch `Tensor.__hash__` and `Tensor.__index__`, and the libraries."""
        hash_of: Callable[[Any], int] = torch.Tensor.__hash__

        def __hash__(tensor: Any) -> int:  # noqa: N807
            if not tensor.requires_grad and not tensor.dim():
                self._look_at_key(tensor)
            return hash_of(tensor)

        patches.replace(torch.Tensor, "__hash__", __hash__)
        patches.around(torch.Tensor, "__index__", self._index)
        TakenByLibraries(self._tell).patch(patches)

    def _look_at_key(self, tensor: Any) -> None:
        between = list(takewhile(_is_between, outward(sys._getframe(1))))
        frame = between[-1].f_back
        is_kept = any(each.f_code.co_name in _KEEPING for each in between)
        if frame is not None and not is_kept and is_own(frame.f_code.co_filename) and not _finds_itself(frame):
            self._tell(tensor, f"a tensor is a key, or a member of a set: {IDENTITY}")

    def _index(self, index: Callable[[Any], int], tensor: Any) -> int:
        frame = sys._getframe(2)
        if tensor.dim() and tensor.numel() == 1 and is_own(frame.f_code.co_filename):
            item = node_at(frame, ast.Subscript)
            # `a[t] = x` writes the same for an index of one element, unless it is a False mask.
            is_meant = item is not None and (isinstance(item.ctx, ast.Load) or tensor.dtype == torch.bool)
            if item is not None and is_meant and _is_array(value_of(item.value, frame)):
                self._tell(tensor, f"indexing an array takes a tensor for values: {said('axis', 'numpy', '')}")
        return index(tensor)


def _is_between(frame: FrameType) -> bool:
    """True for a frame of a counting module, of tonumpy, or of a `__hash__` that dataclasses have generated."""
    name = frame.f_globals.get("__name__") or ""
    code = frame.f_code
    is_written = code.co_name == "__hash__" and code.co_filename.startswith("<")
    return name in _COUNTING or name.startswith("tonumpy.") or is_written


def _finds_itself(frame: FrameType) -> bool:
    """True if the frame reads an item by the key (`d[key]`), and a missing one is not created (`defaultdict`)."""
    item = node_at(frame, ast.Subscript)
    is_made = item is not None and hasattr(value_of(item.value, frame), "default_factory")
    return item is not None and isinstance(item.ctx, ast.Load) and not is_made


def _is_array(value: Any) -> bool:
    """True for an array or UNKNOWN: it may be indexed by several numbers, as a list may not."""
    return value is UNKNOWN or type(value).__module__.partition(".")[0] == "numpy"


_CONVERTING = ("__array__", "numpy")
# Not `__getitem__`: written in Python it would make tensors sequences to C code, and no scalars to pandas.
_JOINING = ("__and__", "__or__", "__xor__", "__rand__", "__ror__", "__rxor__", "clone", "contiguous", "any", "all")
_INVERTING = ("__invert__", "bitwise_not")
_INVERTED = "`~` makes 255 and 254 of 0 and 1, which are both true"
_GIVES = "a boolean ufunc of a tensor gives a tensor of uint8, not of bool"


class Masks:
    """Reports uint8 results of boolean ufuncs that are used as masks."""

    def __init__(self, reports: Reports) -> None:
        self._tell = partial(reports.tell, "no mask")
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()  # storages of such results
        self._follow: Callable[[], None] = lambda: None

    def patch(self, patches: Patches) -> None:
        """Patch `Tensor.__array_wrap__`; call it after the other patches of that."""
        self._follow = patches.later(self._patch_following)
        patches.around(torch.Tensor, "__array_wrap__", self._wrapped)

    def _wrapped(self, wrap: Any, tensor: Any, array: Any, *more: Any) -> Any:  # a function mode passes it by name
        found = wrap(tensor, array, *more)
        if isinstance(array, (np.ndarray, np.bool_)) and array.dtype == np.bool_ and _is_uint8(found):
            self._made.add(found.untyped_storage())
            self._follow()
        return found

    def _patch_following(self, patches: Patches) -> None:
        """Patch the methods that use such results; done at the first one."""
        following = (self._converted, _CONVERTING), (self._joined, _JOINING), (self._inverted, _INVERTING)
        for acting, names in following:
            for name in names:
                patches.around(torch.Tensor, name, acting)
        patches.around(torch, "bitwise_not", self._inverted)

    def _converted(self, function: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        """Report a result that is converted to an array and used as an index, or inverted."""
        frame = sys._getframe(2)
        if self._is_one(tensor) and tensor.dim() and is_own(frame.f_code.co_filename):
            step = "index" if node_at(frame, ast.Subscript) is not None else _next_step(frame)
            if step == "index":
                self._tell(tensor, f"{_GIVES}: as an index of an array it takes the rows 0 and 1, and masks nothing")
            elif step == "invert":
                self._tell(tensor, f"{_GIVES}: {_INVERTED}")
        return function(tensor, *args, **kwargs)

    def _joined(self, function: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        found = function(tensor, *args, **kwargs)
        if _is_uint8(found) and any(map(self._is_one, (tensor, *args))):
            self._made.add(found.untyped_storage())
        return found

    def _inverted(self, function: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if self._is_one(tensor):
            self._tell(tensor, f"{_GIVES}: {_INVERTED}")
        return function(tensor, *args, **kwargs)

    def _is_one(self, value: Any) -> bool:
        return _is_uint8(value) and value.untyped_storage() in self._made


def _next_step(frame: FrameType) -> str:
    """How the call's result is used: "index", "invert" or ""."""
    tree, call = tree_of(frame.f_code.co_filename), node_at(frame, ast.Call)
    for node in walk(tree) if tree is not None and call is not None else ():
        if isinstance(node, ast.Subscript) and node.slice is call:
            return "index"
        if isinstance(node, ast.UnaryOp) and node.operand is call and isinstance(node.op, ast.Invert):
            return "invert"
    return ""


def _is_uint8(value: Any) -> bool:
    is_tensor = isinstance(value, torch.Tensor)
    return is_tensor and value.dtype == torch.uint8 and value.is_cpu and value.layout is torch.strided
