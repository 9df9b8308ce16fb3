"""Wraps torch's functions and methods, as Python calls them, so that they propagate marks from arguments to results.

The wrappers pass the very same arguments to torch's own CPU functions. Autograd runs unobserved; autograd.py marks its
results. Torch keeps the state of CUDA's autocast; the casts are made here. One slot of CPython's type objects, which C
code reads of tensors, is cleared, unless this Python has another layout of types (no GIL, another implementation).
"""

from __future__ import annotations

import ctypes
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch.jit._builtins
import torch.utils._device as default_device
from torch.overrides import handle_torch_function

from tonumpy.rehearsal.standin import marks
from tonumpy.rehearsal.standin import operator_lists as lists
from tonumpy.rehearsal.standin.factories import factory, named, refuses_integers, refusing, with_options
from tonumpy.rehearsal.standin.marks import (
    PLAIN_TYPES,
    STATE,
    UNKNOWN,
    WITHOUT_STORAGE,
    Mark,
    Parameter,
    Tensor,
    count_modes,
    mark_of,
    storage_of,
)
from tonumpy.rehearsal.standin.patches import Patches

Function = Callable[..., Any]
Public = Callable[[], Function]  # returns the function that the program calls
# Called with an operator's name, its arguments, the tensors among them and their marks.
Look = Callable[[str, Any, list[Any], list[Mark]], None]

_C = torch._C
_BUILTINS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
_SCALARS = frozenset((int, float, bool, slice, str, type(None), type(...), torch.dtype, torch.Size))
_BASIC = frozenset((int, slice))
_OPTIONS = frozenset(("device", "generator", "pin_memory"))
_WITH_TENSORS = (Tensor, tuple, list)
_MODULES = (_C._nn, _C._linalg, _C._fft, _C._special, _C._sparse, _C._nested)


def patch(patches: Patches, look: Look) -> None:
    """Wrap them in all modules that refer to them, until `patches` are restored.

    `look` is called for operators on tensors with different or rare marks.
    """
    _patch_autocast(patches)
    torch.overrides.get_default_nowrap_functions()  # cached at its first call: it must hold torch's own
    factories = frozenset(default_device._device_constructors())  # the same
    scripted = torch.jit._builtins._get_builtin_table()
    wrap = _Wrapper(look)
    made = _functions(wrap)
    for name in lists.MORE_FACTORIES:
        if hasattr(torch, name):
            made[getattr(torch, name)] = factory(getattr(torch, name))
    for original in factories:
        if isinstance(original, types.BuiltinFunctionType):
            made[original] = refusing(original.__name__, factory(original))
    variable = _C._VariableFunctions
    functions = {name: getattr(variable, name) for name in dir(variable)}
    wrapped = {name: made[original] for name, original in functions.items() if original in made}
    patches.replace(_C, "_VariableFunctions", types.SimpleNamespace(**functions | wrapped))  # it cannot be changed
    for name, function in wrapped.items():
        patches.replace(torch._VF, name, function)
    _rebind(patches, made)
    _wrap_methods(patches, wrap)
    for kind in (torch._ops.OpOverloadPacket, torch._ops.OpOverload):
        patches.replace(kind, "__call__", _called(kind.__call__, wrap))
    patches.replace(default_device.DeviceContext, "__torch_function__", _without_device)
    keep_tensors_from_being_sequences(patches)
    for original, function in made.items():  # TorchScript knows functions by identity
        if id(original) in scripted:
            patches.put(scripted, id(function), scripted[id(original)])


def _functions(wrap: _Wrapper) -> dict[Any, Function]:
    """Map each of torch's own functions to its wrapper."""
    made: dict[Any, Function] = {}
    variable = _C._VariableFunctions
    for name in sorted(dir(variable), key=len, reverse=True):  # `mm`, which equals `dsmm` and `spmm`, after them
        # Optimizers group the lists that these functions write by device themselves.
        is_written = name.startswith("_foreach_") and name.endswith("_")
        if not name.startswith("__") and not is_written and name not in lists.NO_OPERATORS:
            original = getattr(variable, name)
            made[getattr(torch, name, original)] = made[original] = wrap(original, name)
    for module in _MODULES:
        for name, original in vars(module).items():
            if isinstance(original, types.BuiltinFunctionType) and name != "_parse_to":
                short = name.split("_", 1)[1] if name.startswith(("linalg_", "fft_")) else name
                made[original] = wrap(original, short)
    return {original: function for original, function in made.items() if isinstance(original, _BUILTINS)}


def _rebind(patches: Patches, made: dict[Any, Function]) -> None:
    """Replace the functions in all modules, also in those that have run `from torch import relu`."""
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if type(value) is types.BuiltinFunctionType and value in made:
                patches.replace(module, name, made[value])


def _wrap_methods(patches: Patches, wrap: _Wrapper) -> None:
    for name in dir(Tensor):
        original = getattr(Tensor, name)
        is_named = name in lists.DUNDERS
        if not is_named and (name.startswith("__") or name in lists.VIEWS or name in lists.NO_TENSORS):
            continue
        if isinstance(original, _BUILTINS) or (is_named and isinstance(original, types.FunctionType)):
            patches.replace(Tensor, name, wrap(original, name))


class _Wrapper:
    """Makes the wrapper of a function, by its name."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def __call__(self, original: Function, name: str) -> Function:
        is_method, plainly = not isinstance(original, types.BuiltinFunctionType), refusing(name, original)
        compute = _casting(name, plainly)
        is_original, is_always = compute is original, plainly is not original and not refuses_integers(name)
        usual = compute if is_always else original
        crossing, returns_self = self.crossing, _writes_first(name)

        def public() -> Function:
            return getattr(Tensor, lists.SAID_AS.get(name, name)) if is_method else operator

        def operator(*args: Any, **kwargs: Any) -> Any:
            """The fast path: all tensors are positional and have one mark, and no device is named."""
            if count_modes():
                return crossing(compute, name, args, kwargs, public)
            seen = _one_mark(args, None)
            if seen is UNKNOWN or (kwargs and not _are_plain(kwargs)):
                return crossing(compute, name, args, kwargs, public)
            act = usual
            if not is_original and seen is not None:
                act = compute if STATE.has_cast or getattr(args[0], "dtype", None) not in _FLOATS else usual
            result = act(*args, **kwargs) if kwargs else act(*args)
            if seen is None or returns_self:
                return result
            if type(result) is not Tensor:
                return marks.put_all(result, seen)
            try:
                storage = storage_of(result)
                if storage.mark is UNKNOWN:
                    storage.mark = seen
            except WITHOUT_STORAGE:
                marks.put(result, seen)
            return result

        act = _short(name, original, operator) if is_method and is_original else operator
        return named(act, original, f"Tensor.{name}" if is_method else original.__name__)

    def crossing(
        self, compute: Function, name: str, args: Any, kwargs: dict[str, Any], public: Public | None = None
    ) -> Any:
        """Run an operator with any arguments (the slow path); `public` returns the function that a
        `__torch_function__` gets."""
        if public is not None and any(map(_overrides, given := (*_parts(args), *_parts(kwargs.values())))):
            return handle_torch_function(public(), given, *args, **kwargs)  # torch would pass its own function
        tensors = marks.tensors_in((args, kwargs) if kwargs else args)
        target = self._meeting(name, args, tensors)
        if kwargs:
            target = with_options(kwargs, target)
        result = compute(*args, **kwargs)
        if target is UNKNOWN or name in lists.VIEWS or _writes_first(name):
            return result
        if any(result is each for each in tensors):
            return result
        if kwargs.get("device") is not None and isinstance(result, Tensor):
            marks.holder_of(result).mark = target
        marks.put_all(result[:1] if name in lists.GIVES_SIZES else result, target)
        return result

    def _meeting(self, name: str, args: Any, tensors: list[Any]) -> Mark:
        """The mark of an operator's result; calls `look` if the tensors' marks differ or are rare."""
        found = [mark_of(each) for each in tensors]
        several = set(found)
        if len(several) > 1 or any(each.is_rare for each in several):
            self._look(name, args, tensors, found)
        target = next((each for each in found if each.pretended), None)
        if target is not None:
            return marks.on(target.place) if target.excused and len(several) > 1 else target
        return marks.HOST if several - {UNKNOWN} else UNKNOWN


def _short(name: str, original: Function, operator: Function) -> Function:
    """A faster wrapper for binary operators and `__getitem__` in their usual calls; else `operator` itself."""
    returns_self = _writes_first(name)

    def binary(self: Any, other: Any, **options: Any) -> Any:
        kind, is_usual, seen = type(other), False, UNKNOWN
        if type(self) in PLAIN_TYPES and not options and not count_modes():
            try:
                seen = storage_of(self).mark
                is_usual = kind in _SCALARS or (kind in PLAIN_TYPES and storage_of(other).mark is seen)
            except WITHOUT_STORAGE:
                pass
        if not is_usual or seen.is_rare:
            return operator(self, other, **options)
        result = original(self, other)
        if returns_self:
            return result
        if type(result) is not Tensor:
            return marks.put_all(result, seen)
        try:
            storage = storage_of(result)
            if storage.mark is UNKNOWN:
                storage.mark = seen
        except WITHOUT_STORAGE:
            marks.put(result, seen)
        return result

    def read(self: Any, index: Any) -> Any:
        if type(index) in _BASIC and type(self) in PLAIN_TYPES and not count_modes():
            try:
                if not storage_of(self).mark.is_rare:
                    return original(self, index)  # a view, which has the mark already
            except WITHOUT_STORAGE:
                pass
        return operator(self, index)

    if name in lists.BINARY:
        return binary
    return read if name == "__getitem__" else operator


def _overrides(value: Any) -> bool:
    """True for a non-tensor with `__torch_function__`: a symbolic value of torch.fx, an object of the user's class."""
    return hasattr(type(value), "__torch_function__") and not isinstance(value, Tensor)


def _parts(values: Iterable[Any]) -> Iterator[Any]:
    for each in values:
        if type(each) is list or type(each) is tuple:
            yield from each
        else:
            yield each


def _one_mark(values: Iterable[Any], seen: Mark | None) -> Mark | None:
    """The common mark of `seen` and of the tensors in arguments, a list or an index; UNKNOWN if the slow path must
    decide."""
    try:
        for each in values:
            kind = type(each)
            if kind is Tensor or kind is Parameter:
                mark = storage_of(each).mark
                if mark is not seen:
                    if seen is not None or mark.is_rare:
                        return UNKNOWN
                    seen = mark
            elif kind in _SCALARS:
                continue
            elif kind is list or kind is tuple:
                seen = _one_mark(each, seen)
                if seen is UNKNOWN:
                    return UNKNOWN
            elif hasattr(kind, "__torch_function__"):
                return UNKNOWN
    except WITHOUT_STORAGE:
        return UNKNOWN
    return seen


def _are_plain(kwargs: dict[str, Any]) -> bool:
    for key, value in kwargs.items():
        if value is not None and (key in _OPTIONS or isinstance(value, _WITH_TENSORS)):
            return False
    return True


def _writes_first(name: str) -> bool:
    """True if a method writes its tensor in place, and returns it or None."""
    if name.startswith("__"):
        return name == "__setitem__" or (name.startswith("__i") and name != "__invert__")
    return name.endswith("_")


def _called(call: Function, wrap: _Wrapper) -> Function:
    """Wrap the call of an operator packet: `torch.ops.aten.add(x, y)`, and operators of other libraries."""

    @functools.wraps(call)
    def called(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and _SCALARS.issuperset(map(type, args)):  # optimizers and modules mark ranges for profilers
            return call(self, *args)
        name = getattr(self, "_qualified_op_name", "") or str(self)
        return wrap.crossing(functools.partial(call, self), name.partition("::")[2].partition(".")[0], args, kwargs)

    return called


def _without_device(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Replaces `DeviceContext.__torch_function__`, which adds `device=` to factories: ours look it up themselves."""
    del self, types
    return func(*args, **(kwargs or {}))


_FLOATS = frozenset((torch.float16, torch.bfloat16, torch.float32))
_to = marks.Base.to
_is_enabled = torch.is_autocast_enabled


def _patch_autocast(patches: Patches) -> None:
    """Make `torch.autocast` available for the kind of device."""
    for owner in (torch._C, torch.amp.autocast_mode):
        for name in ("_is_autocast_available", "is_autocast_available"):
            if hasattr(owner, name):
                patches.around(owner, name, lambda ask, kind: kind == STATE.kind or ask(kind))
    patches.replace(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
    for owner in (torch, _C):
        patches.around(owner, "set_autocast_enabled", _enable_autocast)


def _enable_autocast(enable: Function, *args: Any) -> None:
    STATE.has_cast = True
    enable(*args)


def _casting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function to cast its arguments first, if CUDA's autocast casts for it."""
    if name not in lists.LOWER and name not in lists.FULL:
        return function
    is_lower, kind = name in lists.LOWER, STATE.kind

    def cast(*args: Any, **kwargs: Any) -> Any:
        if not _is_enabled(kind) or (not is_lower and kwargs.get("dtype") is not None):
            return function(*args, **kwargs)
        dtype = torch.get_autocast_dtype(kind) if is_lower else torch.float32
        args = tuple(_cast(each, dtype) for each in args)
        kwargs = {key: _cast(each, dtype) for key, each in kwargs.items()}
        return function(*args, **kwargs)

    return cast


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, Tensor):
        if value.dtype in _FLOATS and value.dtype is not dtype and mark_of(value).pretended:
            return _to(value, dtype)
    elif type(value) is list or type(value) is tuple:
        return type(value)(_cast(each, dtype) for each in value)
    return value


# Offsets in PyTypeObject and PySequenceMethods, in machine words.
_NAME, _SIZE, _AS_SEQUENCE, _ITEM = 3, 4, 13, 3
_WORD = ctypes.sizeof(ctypes.c_void_p)


def keep_tensors_from_being_sequences(patches: Patches) -> None:
    """Clear the sequence slot that a `__getitem__` in Python fills: to C code (pandas) a tensor is no sequence."""

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
    sequence = ctypes.c_void_p.from_address(id(kind) + _AS_SEQUENCE * _WORD).value
    if sequence:
        ctypes.c_void_p.from_address(sequence + _ITEM * _WORD).value = None


def _is_as_expected(kind: Any) -> bool:
    """True if a type has the expected memory layout in this Python."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    is_sized: bool = ctypes.c_ssize_t.from_address(id(kind) + _SIZE * _WORD).value == kind.__basicsize__
    name = ctypes.string_at(ctypes.c_void_p.from_address(id(kind) + _NAME * _WORD).value or 0)
    return is_sized and name.decode(errors="replace").rpartition(".")[2] == kind.__name__
