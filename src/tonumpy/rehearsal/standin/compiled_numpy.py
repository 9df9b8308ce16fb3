"""Runs a function as `torch.compile` would: while it runs, `.numpy()` and NumPy's functions of tensors are torch's."""

from __future__ import annotations

import functools
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tonumpy.rehearsal.standin.compiled_code import calling, here, innermost, is_compiled
from tonumpy.rehearsal.standin.current_step import is_operator
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.traced_arrays import counterpart, tensor_of, untraced, with_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    """What NumPy asks of a tensor, and what makes a tensor of an array, while compiled code runs in any thread."""

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
            self._patches.replace(np, name, _converting(getattr(np, name)))
        for name in _TAKING:
            self._patches.replace(torch, name, _taking(getattr(torch, name)))


_HOOKS = _Hooks()


def _of_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    del self
    is_known = method == "__call__" and counterpart(ufunc) is not None and is_compiled()
    plain = getattr(ufunc, method)(*_values(inputs, is_known=is_known), **_values(kwargs, is_known=is_known))
    if not is_known or "out" in kwargs:
        first = next((each for each in inputs if isinstance(each, Tensor)), None)
        return plain if first is None or is_known else first.__array_wrap__(np.asarray(plain))
    found = with_tensor(plain, counterpart(ufunc), inputs, kwargs)
    frame = innermost()
    return tensor_of(found) if frame is not None and is_operator(frame) else found


def _of_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    del self, types
    if counterpart(func) is None or not is_compiled():
        with calling(False):
            return func._implementation(*args, **kwargs)  # as NumPy does where a tensor has no such method
    plain = func(*_values(args, is_known=True), **_values(kwargs, is_known=True))
    return with_tensor(plain, counterpart(func), args, kwargs)


def _values(value: Any, *, is_known: bool) -> Any:
    """Arrays in place of tensors; where the function is none of torch's, they are converted as ever."""
    if isinstance(value, Tensor) and is_known:
        return untraced(value.__array__())
    if isinstance(value, Tensor):
        with calling(False):
            return value.__array__()
    if isinstance(value, dict):
        return {name: _values(each, is_known=is_known) for name, each in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_values(each, is_known=is_known) for each in value)
    return untraced(value)


def _converting(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def convert(value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, Tensor) and is_compiled():
            plain = function(value, *args, **kwargs)
            return with_tensor(plain, counterpart(function), (value, *args), kwargs)
        return function(value, *args, **kwargs)

    return convert


def _taking(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def take(value: Any, *args: Any, **kwargs: Any) -> Any:
        found = tensor_of(value)
        return function(value, *args, **kwargs) if found is value else _as_asked(found, *args, **kwargs)

    return take


def _as_asked(tensor: Any, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    del options
    return tensor.to(device=device or tensor.device, dtype=dtype or tensor.dtype)
