"""What `.numpy()` gives inside `torch.compile`: an array, and beside it the tensor that torch would compute.

There NumPy's functions are torch's: a history goes on, and work stays on the device. Here NumPy computes the values, as
they must be right, and torch._numpy the tensor, which `torch.from_numpy` and the like take. Where torch has no such
function the array goes on alone.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch._numpy as tnp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_METHODS = (
    "all any argmax argmin argsort astype clip copy cumprod cumsum diagonal dot flatten max mean min nonzero prod ravel"
    " repeat reshape round squeeze std sum swapaxes take transpose var"
).split()


class Traced(np.ndarray[Any, Any]):
    """An array with its tensor."""

    tensor: Any = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's result, and torch's; what is done with a tensor is the tensor's."""
        if any(isinstance(each, torch.Tensor) for each in inputs):
            return NotImplemented
        plain = getattr(ufunc, method)(*untraced(inputs), **untraced(kwargs))
        function = _COUNTERPARTS.get(ufunc)
        if method != "__call__" or function is None or "out" in kwargs:
            of_method = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}.get(ufunc.__name__)
            if method != "reduce" or of_method is None or "out" in kwargs:
                return plain
            function = getattr(tnp, of_method)
        return with_tensor(plain, function, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's result, and torch's; what is done with a tensor is the tensor's."""
        if any(issubclass(each, torch.Tensor) for each in types):
            return NotImplemented
        plain = func(*untraced(args), **untraced(kwargs))
        function = _COUNTERPARTS.get(func)
        return plain if function is None else with_tensor(plain, function, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        """A part."""
        return with_tensor(untraced(self)[untraced(index)], tnp.ndarray.__getitem__, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        """Torch's is another from here on."""
        np.ndarray.__setitem__(self, untraced(index), untraced(value))
        self.tensor = None if self.tensor is None else _put(self.tensor, index, value)

    @property
    def T(self) -> Any:
        """Transposed."""
        return with_tensor(untraced(self).T, tnp.ndarray.transpose, (self,), {})


def _method(name: str) -> Callable[..., Any]:
    own = getattr(np.ndarray, name)

    @functools.wraps(own)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        plain = own(untraced(self), *untraced(args), **untraced(kwargs))
        function = getattr(tnp.ndarray, name, None)
        return plain if function is None else with_tensor(plain, function, (self, *args), kwargs)

    return method


for _name in _METHODS:
    setattr(Traced, _name, _method(_name))


def traced(values: Any, tensor: Any) -> Any:
    """The array of these values, with its tensor."""
    made = np.asarray(values).view(Traced)
    made.tensor = tensor
    return made


def with_tensor(plain: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A result of NumPy with what torch computes of the same; alone where torch does not."""
    try:
        device = next(each.device for each in _tensors_in((args, kwargs)))
        found = function(*_shadows(args, device), **_shadows(kwargs, device))
        return _both(plain, found)
    except Exception:  # torch._numpy has many ways to say that it does not
        return plain


def _both(plain: Any, found: Any) -> Any:
    if isinstance(found, tuple | list) and isinstance(plain, tuple | list):
        return type(plain)(_both(one, other) for one, other in zip(plain, found, strict=True))
    tensor = getattr(found, "tensor", found)
    is_one = isinstance(tensor, torch.Tensor) and isinstance(plain, np.ndarray | np.generic)
    return traced(plain, tensor) if is_one and tuple(tensor.shape) == plain.shape else plain


def _put(tensor: Any, index: Any, value: Any) -> Any:
    try:
        changed = tnp.ndarray(tensor.clone())
        changed[_shadows(index, tensor.device)] = _shadows(value, tensor.device)
    except Exception:
        return None
    return changed.tensor


def tensor_of(value: Any) -> Any:
    """What torch takes in place of an array; the value itself where it is none of these."""
    return value.tensor if isinstance(value, Traced) and value.tensor is not None else value


def untraced(value: Any) -> Any:
    """The same with plain arrays, also in tuples, lists and dicts: what leaves the compiled code."""
    if isinstance(value, Traced):
        return value.view(np.ndarray)
    return _mapped(value, untraced) if isinstance(value, tuple | list | dict) else value


def _shadows(value: Any, device: Any) -> Any:
    if isinstance(value, Traced) and value.tensor is not None:
        return tnp.ndarray(value.tensor)
    if isinstance(value, torch.Tensor):
        return tnp.ndarray(value)
    if isinstance(value, np.ndarray | np.generic):
        return tnp.ndarray(torch.tensor(np.asarray(value)).to(device))
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return getattr(tnp, np.dtype(value).name)
    return _mapped(value, lambda each: _shadows(each, device)) if isinstance(value, tuple | list | dict) else value


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    if type(value) is dict:
        return {name: function(each) for name, each in value.items()}
    if type(value) in (tuple, list):
        return type(value)(map(function, value))
    is_named = isinstance(value, tuple) and type(value).__bases__ == (tuple,) and hasattr(value, "_make")
    return value._make(map(function, value)) if is_named else value


def _tensors_in(values: Any) -> Iterator[Any]:
    for each in values.values() if isinstance(values, dict) else values:
        if isinstance(each, torch.Tensor):
            yield each
        elif isinstance(each, Traced):
            yield from () if each.tensor is None else (each.tensor,)
        elif isinstance(each, tuple | list | dict):
            yield from _tensors_in(each)


def counterpart(function: Any) -> Any:
    """Torch's of a function of NumPy, or None."""
    return _COUNTERPARTS.get(function)


def _counterparts() -> dict[Any, Any]:
    found = {}
    for ours, theirs in ((np, tnp), (np.fft, tnp.fft), (np.linalg, tnp.linalg)):
        for name in dir(theirs):
            function = getattr(ours, name, None)
            if not name.startswith("_") and callable(function) and not isinstance(function, type):
                found[function] = getattr(theirs, name)
    return found


_COUNTERPARTS = _counterparts()
