"""Runs a function as `torch.compile` would: while it runs, torch implements `.numpy()` and NumPy functions of tensors.

`.numpy()` gives a `Traced` array that carries the tensor that torch would compute, with its history and device.
NumPy computes the values, which must be right, and torch._numpy the tensor, which `torch.from_numpy` and the like use.
A result of a function that torch lacks is a plain array.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch._numpy as tnp
from torch.utils._pytree import tree_map

from tonumpy.rehearsal.frames import calling, here, innermost, is_compiled, node_at
from tonumpy.rehearsal.standin.marks import UNKNOWN
from tonumpy.rehearsal.standin.patches import Patches

Tensor = torch.Tensor
_CONVERTING = ("asarray", "array", "asanyarray", "ascontiguousarray")
_TAKING = ("from_numpy", "as_tensor", "asarray")
_METHODS = (
    "__getitem__ argmax argmin argsort astype clip copy cumprod cumsum diagonal dot flatten mean nonzero ravel repeat"
    " reshape round squeeze std swapaxes take transpose var"
).split()
_REDUCED = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"}


class Traced(np.ndarray[Any, Any]):
    """An array that carries the tensor of the same values."""

    tensor: Any = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's result with torch's; with a tensor among the operands, leave the call to the tensor."""
        if any(isinstance(each, Tensor) for each in inputs):
            return NotImplemented
        plain = getattr(ufunc, method)(*untraced(inputs), **untraced(kwargs))
        if "out" in kwargs or method not in ("__call__", "reduce"):
            return plain
        function = _COUNTERPARTS.get(ufunc) if method == "__call__" else getattr(tnp, _REDUCED.get(ufunc, ""), None)
        return with_tensor(plain, function, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's result with torch's; with a tensor among the operands, leave the call to the tensor."""
        if any(issubclass(each, Tensor) for each in types):
            return NotImplemented
        return with_tensor(func(*untraced(args), **untraced(kwargs)), _COUNTERPARTS.get(func), args, kwargs)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write the array, and drop its tensor."""
        np.ndarray.__setitem__(self, untraced(index), untraced(value))
        self.tensor = None

    @property
    def T(self) -> Any:
        """Transposed."""
        return self.transpose()


def _method(name: str) -> Callable[..., Any]:
    own = getattr(np.ndarray, name)

    @functools.wraps(own)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        plain = own(untraced(self), *untraced(args), **untraced(kwargs))
        return with_tensor(plain, getattr(tnp.ndarray, name, None), (self, *args), kwargs)

    return method


for _name in _METHODS:
    setattr(Traced, _name, _method(_name))


def traced(values: Any, tensor: Any) -> Any:
    """The array of these values, with its tensor."""
    made = np.asarray(values).view(Traced)
    made.tensor = tensor
    return made


def with_tensor(plain: Any, function: Callable[..., Any] | None, args: Any, kwargs: Any) -> Any:
    """NumPy's result with the tensor that torch computes from the same arguments; alone if torch cannot."""
    if function is None:
        return plain
    try:
        return _both(plain, function(*tree_map(_shadow, args), **tree_map(_shadow, kwargs)))
    except Exception:  # torch._numpy raises many errors for what it lacks
        return plain


def _both(plain: Any, found: Any) -> Any:
    if isinstance(found, tuple | list) and isinstance(plain, tuple | list):
        return type(plain)(_both(one, other) for one, other in zip(plain, found, strict=True))
    tensor = getattr(found, "tensor", found)
    is_one = isinstance(tensor, Tensor) and isinstance(plain, np.ndarray | np.generic)
    return traced(plain, tensor) if is_one and tuple(tensor.shape) == plain.shape else plain


def tensor_of(value: Any) -> Any:
    """The tensor of a traced array; any other value itself."""
    return value.tensor if isinstance(value, Traced) and value.tensor is not None else value


def untraced(value: Any) -> Any:
    """Replace traced arrays, also in tuples, lists and dicts, by plain ones, as compiled code returns them."""
    return tree_map(lambda each: each.view(np.ndarray) if isinstance(each, Traced) else each, value)


def _shadow(value: Any) -> Any:
    """The torch._numpy counterpart of a value or dtype; an array becomes a tensor that fits any device."""
    value = tensor_of(value)
    if isinstance(value, np.ndarray | np.generic):
        value = torch.tensor(np.asarray(value))
        value.untyped_storage().mark = UNKNOWN
    if isinstance(value, Tensor):
        return tnp.ndarray(value)
    is_dtype = isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))
    return getattr(tnp, np.dtype(value).name) if is_dtype else value


def _counterparts() -> dict[Any, Any]:
    found = {}
    for ours, theirs in ((np, tnp), (np.fft, tnp.fft), (np.linalg, tnp.linalg)):
        for name in dir(theirs):
            function = getattr(ours, name, None)
            if not name.startswith("_") and callable(function) and not isinstance(function, type):
                found[function] = getattr(theirs, name)
    return found


_COUNTERPARTS = _counterparts()


def patch(patches: Patches) -> None:
    """Patch the NumPy protocols of tensors, NumPy's converting functions, and torch's functions that take arrays."""
    patches.replace(Tensor, "__array_ufunc__", _of_ufunc)
    patches.replace(Tensor, "__array_function__", _of_function)
    for name in _CONVERTING:
        patches.around(np, name, _convert)
    for name in _TAKING:
        patches.around(torch, name, _take)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, running as compiled code."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if torch._dynamo.config.disable:
            return function(*args, **kwargs)
        with calling(True):
            return untraced(function(*args, **kwargs))

    return run


def excepted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, running as plain code, also in its callees, when compiled code calls it."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not here.calls:
            return function(*args, **kwargs)
        with calling(False):
            return function(*untraced(args), **untraced(kwargs))

    return run


def _of_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    del self
    function = _COUNTERPARTS.get(ufunc) if method == "__call__" and is_compiled() else None
    plain = getattr(ufunc, method)(*_arrays(inputs, function), **_arrays(kwargs, function))
    if function is None:
        first = next((each for each in inputs if isinstance(each, Tensor)), None)
        return plain if first is None else first.__array_wrap__(np.asarray(plain))
    if "out" in kwargs:
        return plain
    found = with_tensor(plain, function, inputs, kwargs)
    frame = innermost()  # an operator or comparison, not a call, gives the tensor
    is_operator = any(frame and node_at(frame, kind) for kind in (ast.BinOp, ast.Compare, ast.AugAssign))
    return tensor_of(found) if is_operator else found


def _of_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    del self, types
    function = _COUNTERPARTS.get(func) if is_compiled() else None
    if function is None:
        with calling(False):
            return func._implementation(*args, **kwargs)  # as NumPy does if a tensor lacks `__array_function__`
    return with_tensor(func(*_arrays(args, function), **_arrays(kwargs, function)), function, args, kwargs)


def _arrays(values: Any, function: Callable[..., Any] | None) -> Any:
    """Convert tensors to arrays: as compiled code does if torch has the `function`, else as plain code does."""
    with calling(here.calls[-1] if function is not None else False):
        return untraced(tree_map(lambda each: each.__array__() if isinstance(each, Tensor) else each, values))


def _convert(function: Callable[..., Any], value: Any, *args: Any, **kwargs: Any) -> Any:
    plain = function(value, *args, **kwargs)
    if isinstance(value, Tensor) and is_compiled():
        return with_tensor(plain, _COUNTERPARTS.get(function), (value, *args), kwargs)
    return plain


def _take(function: Callable[..., Any], value: Any, *args: Any, **kwargs: Any) -> Any:
    found = tensor_of(value)
    if found is value:
        return function(value, *args, **kwargs)
    dtype = args[0] if args else kwargs.get("dtype")
    return found.to(device=kwargs.get("device") or found.device, dtype=dtype or found.dtype)
