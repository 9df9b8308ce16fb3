"""Runs a function as `torch.compile` would: while it runs, `.numpy()` and NumPy's functions of tensors are torch's.

`.numpy()` gives an array, and beside it the tensor that torch would compute: a history goes on, and work stays on the
device. NumPy computes the values, as they must be right, and torch._numpy the tensor, which `torch.from_numpy` and the
like take. Where torch has no such function the array goes on alone.
"""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch._numpy as tnp

from tonumpy.rehearsal.standin.current_step import calling, here, innermost, is_compiled, is_operator
from tonumpy.rehearsal.standin.patches import Patches

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
    """The tensor that torch takes in place of an array; the value itself where it is none of these."""
    return value.tensor if isinstance(value, Traced) and value.tensor is not None else value


def untraced(value: Any) -> Any:
    """Plain arrays in place of traced ones, also in tuples, lists and dicts: what leaves the compiled code."""
    if isinstance(value, Traced):
        return value.view(np.ndarray)
    return _mapped(value, untraced)


def _shadows(value: Any, device: Any) -> Any:
    if isinstance(value, Traced) and value.tensor is not None:
        return tnp.ndarray(value.tensor)
    if isinstance(value, torch.Tensor):
        return tnp.ndarray(value)
    if isinstance(value, np.ndarray | np.generic):
        return tnp.ndarray(torch.tensor(np.asarray(value)).to(device))
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return getattr(tnp, np.dtype(value).name)
    return _mapped(value, lambda each: _shadows(each, device))


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """The function of what is in a tuple, list or dict; anything else as it is."""
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


def _counterparts() -> dict[Any, Any]:
    found = {}
    for ours, theirs in ((np, tnp), (np.fft, tnp.fft), (np.linalg, tnp.linalg)):
        for name in dir(theirs):
            function = getattr(ours, name, None)
            if not name.startswith("_") and callable(function) and not isinstance(function, type):
                found[function] = getattr(theirs, name)
    return found


_COUNTERPARTS = _counterparts()


Tensor = torch.Tensor
_CONVERTING = ("asarray", "array", "asanyarray", "ascontiguousarray")
_TAKING = ("from_numpy", "as_tensor", "asarray")


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, in which this is so."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if torch._dynamo.config.disable:
            return function(*args, **kwargs)
        with calling(True), _HOOKS.held():
            return untraced(function(*args, **kwargs))

    return run


def excepted(function: Callable[..., Any], *, with_calls: bool) -> Callable[..., Any]:
    """The function, in which it is not; nor in what that calls, unless the function alone is excepted."""
    code = False if with_calls else getattr(getattr(function, "__wrapped__", function), "__code__", False)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not here.calls:
            return function(*args, **kwargs)
        with calling(code):
            return function(*untraced(args), **untraced(kwargs))

    return run


class _Hooks:
    """Answers NumPy's questions to a tensor, and makes tensors of arrays, while compiled code runs in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._patches = Patches()

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            self._count += 1
            self._hook() if self._count == 1 else None
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1
                self._patches.restore() if self._count == 0 else None

    def _hook(self) -> None:
        self._patches.replace(Tensor, "__array_ufunc__", _of_ufunc)
        self._patches.replace(Tensor, "__array_function__", _of_function)
        for name in _CONVERTING:
            self._patches.around(np, name, _convert)
        for name in _TAKING:
            self._patches.around(torch, name, _take)


_HOOKS = _Hooks()


def _of_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    del self
    function = _COUNTERPARTS.get(ufunc) if method == "__call__" and is_compiled() else None
    values = _known_values if function is not None else _plain_values
    plain = getattr(ufunc, method)(*map(values, inputs), **values(kwargs))
    if function is None or "out" in kwargs:
        first = next((each for each in inputs if isinstance(each, Tensor)), None)
        return plain if first is None or function is not None else first.__array_wrap__(np.asarray(plain))
    found = with_tensor(plain, function, inputs, kwargs)
    frame = innermost()
    return tensor_of(found) if frame is not None and is_operator(frame) else found


def _of_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    del self, types
    function = _COUNTERPARTS.get(func) if is_compiled() else None
    if function is None:
        with calling(False):
            return func._implementation(*args, **kwargs)  # as NumPy does where a tensor has no such method
    return with_tensor(func(*_known_values(args), **_known_values(kwargs)), function, args, kwargs)


def _known_values(value: Any) -> Any:
    """Arrays in place of tensors, for a function that torch has."""
    if isinstance(value, Tensor):
        return untraced(value.__array__())
    return untraced(value) if isinstance(value, Traced) else _mapped(value, _known_values)


def _plain_values(value: Any) -> Any:
    """Arrays in place of tensors, which are converted as ever."""
    if isinstance(value, Tensor):
        with calling(False):
            return value.__array__()
    return untraced(value) if isinstance(value, Traced) else _mapped(value, _plain_values)


def _convert(function: Callable[..., Any], value: Any, *args: Any, **kwargs: Any) -> Any:
    plain = function(value, *args, **kwargs)
    if isinstance(value, Tensor) and is_compiled() and function in _COUNTERPARTS:
        return with_tensor(plain, _COUNTERPARTS[function], (value, *args), kwargs)
    return plain


def _take(function: Callable[..., Any], value: Any, *args: Any, **kwargs: Any) -> Any:
    found = tensor_of(value)
    return function(value, *args, **kwargs) if found is value else _as_asked(found, *args, **kwargs)


def _as_asked(tensor: Any, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    del options
    return tensor.to(device=device or tensor.device, dtype=dtype or tensor.dtype)
