"""Code that `torch.compile` would compile -> while it runs, `.numpy()` and NumPy's functions of tensors are torch's.

They raise neither for grad nor for a device there. Not so in what `torch.compiler.disable` excepts, in libraries that
torch leaves alone (scikit-learn, pandas), and in functions of NumPy's that torch has not: these see real arrays.
"""

from __future__ import annotations

import functools
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch._dynamo.trace_rules as trace_rules

from tonumpy.rehearsal.own_code import is_of_torch
from tonumpy.rehearsal.standin.current_step import is_operator
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.traced_arrays import counterpart, tensor_of, traced, untraced, with_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

Tensor = torch.Tensor
_CONVERTING = ("asarray", "array", "asanyarray", "ascontiguousarray")
_TAKING = ("from_numpy", "as_tensor", "asarray")


class _Here(threading.local):
    """In a thread: whether what runs is compiled, for each call that changed that; and of which code that is not so."""

    calls: tuple[bool | Any, ...] = ()


_here = _Here()


def is_compiled() -> bool:
    """Whether the code that runs, innermost, would be compiled."""
    if not _here.calls or _here.calls[-1] is False:
        return False
    frame = _innermost()
    if frame is None or _is_left_alone(frame.f_code.co_filename):
        return False
    return frame.f_code is not _here.calls[-1]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, in which this is so."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if torch._dynamo.config.disable:
            return function(*args, **kwargs)
        with _calling(True), _HOOKS.held():
            return untraced(function(*args, **kwargs))

    return run


def excepted(function: Callable[..., Any], *, with_calls: bool) -> Callable[..., Any]:
    """The function, in which it is not; nor in what that calls, unless the function alone is excepted."""
    code = False if with_calls else getattr(getattr(function, "__wrapped__", function), "__code__", False)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not _here.calls:
            return function(*args, **kwargs)
        with _calling(code):
            return function(*untraced(args), **untraced(kwargs))

    return run


@contextmanager
def _calling(state: Any) -> Iterator[None]:
    before = _here.calls
    _here.calls = (*before, state)
    try:
        yield
    finally:
        _here.calls = before


def _innermost() -> FrameType | None:
    """The Python code that is at a conversion, without torch's own and ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_of_torch(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@functools.cache
def _is_left_alone(filename: str) -> bool:
    return bool(trace_rules.check_file(filename, is_inlined_call=True).skipped)


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
    frame = _innermost()
    return tensor_of(found) if frame is not None and is_operator(frame) else found


def _of_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    del self, types
    if counterpart(func) is None or not is_compiled():
        with _calling(False):
            return func._implementation(*args, **kwargs)  # as NumPy does where a tensor has no such method
    plain = func(*_values(args, is_known=True), **_values(kwargs, is_known=True))
    return with_tensor(plain, counterpart(func), args, kwargs)


def _values(value: Any, *, is_known: bool) -> Any:
    """Arrays in place of tensors; where the function is none of torch's, they are converted as ever."""
    if isinstance(value, Tensor) and is_known:
        return untraced(value.__array__())
    if isinstance(value, Tensor):
        with _calling(False):
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


def array_of(tensor: Any, values: Any) -> Any:
    """What `.numpy()` gives there."""
    return traced(values, tensor)
