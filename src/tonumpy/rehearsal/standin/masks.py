"""Boolean ufuncs of tensors -> what the run is told of: a result of uint8 that is inverted, or an array's index.

NumPy hands the result back to the tensor, and torch makes uint8 of its booleans. Whatever shares memory with the
result, or is joined of such, is one still.
"""

from __future__ import annotations

import ast
import sys
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tonumpy.rehearsal.frames import is_own, node_at, tree_of
from tonumpy.rehearsal.standin.tensors_as_keys import is_index
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from types import FrameType

    from tonumpy.rehearsal.standin.patches import Patches
    from tonumpy.rehearsal.standin.reporting import Reports

_CONVERTING = ("__array__", "numpy")
# Not `__getitem__`: with one in Python a tensor is a sequence to C, and no scalar to pandas any more.
_JOINING = ("__and__", "__or__", "__xor__", "__rand__", "__ror__", "__rxor__", "clone", "contiguous", "any", "all")
_INVERTING = ("__invert__", "bitwise_not")
_INVERTED = "`~` makes 255 and 254 of 0 and 1, which are both true"
_GIVES = "a boolean ufunc of a tensor gives a tensor of uint8, not of bool"


class Masks:
    """Tells of what is taken for a mask and is none."""

    def __init__(self, reports: Reports) -> None:
        self._tell = partial(reports.tell, "no mask")
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()  # the memory of such results
        self._patches: Patches | None = None

    def patch(self, patches: Patches) -> None:
        """Notice them until `patches` are restored; after what else takes the place of `__array_wrap__`."""
        self._patches = patches
        patches.around(torch.Tensor, "__array_wrap__", self._wrapped)

    def _wrapped(self, wrap: Any, tensor: Any, array: Any, *more: Any) -> Any:  # a mode of functions gives it by name
        found = wrap(tensor, array, *more)
        if isinstance(array, (np.ndarray, np.bool_)) and array.dtype == np.bool_ and _is_uint8(found):
            self._made.add(found.untyped_storage())
            self._follow()
        return found

    def _follow(self) -> None:
        """Notice what is done with such results, from the first of them on: programs without any pay nothing."""
        if self._patches is None:
            return
        patches, self._patches = self._patches, None
        for acting, names in (
            (self._converted, _CONVERTING),
            (self._joined, _JOINING),
            (self._inverted, _INVERTING),
        ):
            for name in names:
                patches.around(torch.Tensor, name, acting)
        patches.around(torch, "bitwise_not", self._inverted)

    def _converted(self, function: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        """An array is made of it, as an index or for one, or to be inverted."""
        frame = sys._getframe(2)
        if self._is_one(tensor) and tensor.dim() and is_own(frame.f_code.co_filename):
            step = "index" if is_index(frame) else _next_step(frame)
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
    """Return the next use of the call's result: "index" or "invert", if it is that."""
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
