"""Boolean ufuncs of tensors -> what the run is told of: a result of uint8 that is inverted, or an array's index.

NumPy hands the result back to the tensor, and torch makes uint8 of its booleans. Whatever shares memory with the
result, or is joined of such, is one still.
"""

from __future__ import annotations

import functools
import sys
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin.current_step import is_index, next_step
from tonumpy.rehearsal.standin.reporting import tell

if TYPE_CHECKING:
    from types import FrameType

    from tonumpy.rehearsal.events import Observer
    from tonumpy.rehearsal.standin.patches import Patches
    from tonumpy.rehearsal.standin.reporting import Stacks

_CONVERTING = ("__array__", "numpy")
# Not `__getitem__`: with one in Python a tensor is a sequence to C, and no scalar to pandas any more.
_JOINING = ("__and__", "__or__", "__xor__", "__rand__", "__ror__", "__rxor__", "clone", "contiguous", "any", "all")
_FILLING = ("masked_fill", "masked_fill_", "masked_select", "masked_scatter", "masked_scatter_")
_INVERTING = ("__invert__", "bitwise_not")
_INVERTED = "`~` makes 255 and 254 of 0 and 1, which are both true"
_GIVES = "a boolean ufunc of a tensor gives a tensor of uint8, not of bool"
_REFUSED = f"{_GIVES}: torch fills and selects by no such mask, and raises RuntimeError"


class Masks:
    """Tells of what is taken for a mask and is none."""

    def __init__(self, observer: Observer, stacks: Stacks) -> None:
        self._tell = partial(tell, observer, stacks, "no mask", "a mask that is none")
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()  # the memory of such results

    def patch(self, patches: Patches) -> None:
        """Notice them until `patches` are restored; after what else takes the place of `__array_wrap__`."""
        tensor, made = torch.Tensor, self._made
        wrap = tensor.__array_wrap__

        @functools.wraps(wrap)
        def wrapped(self_: Any, array: Any, *more: Any) -> Any:  # with a mode of functions torch gives it by name
            found = wrap(self_, array, *more)
            if isinstance(array, (np.ndarray, np.bool_)) and array.dtype == np.bool_ and self._is_uint8(found):
                made.add(found.untyped_storage())
            return found

        patches.replace(tensor, "__array_wrap__", wrapped)
        for name in _CONVERTING:
            patches.replace(tensor, name, self._converting(getattr(tensor, name)))
        for name in _JOINING:
            patches.replace(tensor, name, self._joining(getattr(tensor, name)))
        for owner, name in (*((tensor, each) for each in _INVERTING), (torch, "bitwise_not")):
            patches.replace(owner, name, self._inverting(getattr(owner, name)))
        for owner, name in (*((tensor, each) for each in _FILLING), (torch, "masked_fill"), (torch, "masked_select")):
            patches.replace(owner, name, self._filling(getattr(owner, name)))
        patches.replace(tensor, "__setitem__", self._setting(tensor.__setitem__))

    def _converting(self, function: Any) -> Any:
        @functools.wraps(function)
        def converted(self_: Any, *args: Any, **kwargs: Any) -> Any:
            if self._made and self._is_one(self_) and self_.dim():
                self._look_at(self_, sys._getframe(1))
            return function(self_, *args, **kwargs)

        return converted

    def _filling(self, function: Any) -> Any:
        @functools.wraps(function)
        def filled(self_: Any, *args: Any, **kwargs: Any) -> Any:
            if self._made and any(map(self._is_one, (*args, *kwargs.values()))):
                self._tell(self_, _REFUSED)
            return function(self_, *args, **kwargs)

        return filled

    def _setting(self, function: Any) -> Any:
        """Torch sets one value by `masked_fill_`, and others by what takes a mask of uint8."""

        @functools.wraps(function)
        def set_item(self_: Any, key: Any, value: Any) -> None:
            if self._made and any(map(self._is_one, key if isinstance(key, tuple) else (key,))):
                is_one_value = value.numel() == 1 if isinstance(value, torch.Tensor) else np.isscalar(value)
                if is_one_value:
                    self._tell(self_, _REFUSED)
            function(self_, key, value)

        return set_item

    def _look_at(self, tensor: Any, frame: FrameType) -> None:
        """An array is made of it, as an index or for one, or to be inverted."""
        if not is_own(frame.f_code.co_filename):
            return
        step = "index" if is_index(frame) else next_step(frame)
        if step == "index":
            self._tell(tensor, f"{_GIVES}: as an index of an array it takes the rows 0 and 1, and masks nothing")
        elif step == "invert":
            self._tell(tensor, f"{_GIVES}: {_INVERTED}")

    def _joining(self, function: Any) -> Any:
        made = self._made

        @functools.wraps(function)
        def joined(self_: Any, *args: Any, **kwargs: Any) -> Any:
            found = function(self_, *args, **kwargs)
            if made and self._is_uint8(found) and any(map(self._is_one, (self_, *args))):
                made.add(found.untyped_storage())
            return found

        return joined

    def _inverting(self, function: Any) -> Any:
        made = self._made

        @functools.wraps(function)
        def inverted(self_: Any, *args: Any, **kwargs: Any) -> Any:
            if made and self._is_one(self_):
                self._tell(self_, f"{_GIVES}: {_INVERTED}")
            return function(self_, *args, **kwargs)

        return inverted

    def _is_one(self, value: Any) -> bool:
        return self._is_uint8(value) and value.untyped_storage() in self._made

    @staticmethod
    def _is_uint8(value: Any) -> bool:
        is_tensor = isinstance(value, torch.Tensor)
        return is_tensor and value.dtype == torch.uint8 and value.is_cpu and value.layout is torch.strided
