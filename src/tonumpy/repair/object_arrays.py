"""Calls that may make an array of objects: `np.array([t, u], dtype=object)` holds the tensors themselves."""

from __future__ import annotations

import ast

from tonumpy.text.names import last_name

# Functions whose second positional argument is the dtype.
_DTYPE_SECOND = frozenset("array asarray asanyarray ascontiguousarray asfortranarray asarray_chkfinite".split())
_NUMBERS = frozenset(
    "float float16 float32 float64 float128 longdouble half single double int int8 int16 int32 int64 intp int_ intc"
    " long longlong short byte uint8 uint16 uint32 uint64 uint ubyte ushort bool bool_ complex complex64 complex128"
    " csingle cdouble".split()
)
_CODES = frozenset("? b B h H i I l L q Q e f d g F D G p P".split())


def may_keep_objects(call: ast.AST) -> bool:
    """True if a call asks for a dtype that is `object` or cannot be read."""
    if not isinstance(call, ast.Call):
        return False
    dtype = next((each.value for each in call.keywords if each.arg == "dtype"), None)
    if dtype is None and last_name(call.func) in _DTYPE_SECOND and len(call.args) > 1:
        dtype = call.args[1]
    if dtype is None:  # `**options` may hold one
        return any(each.arg is None for each in call.keywords)
    return not _is_of_numbers(dtype)


def _is_of_numbers(dtype: ast.expr) -> bool:
    if isinstance(dtype, ast.Constant):
        if dtype.value is None:
            return True
        text = dtype.value.lstrip("<>=|") if isinstance(dtype.value, str) else ""
        return text in _NUMBERS or text in _CODES or (text[:1] in "biufc" and text[1:].isdigit())
    if isinstance(dtype, ast.Call):  # `np.dtype("float32")`
        return last_name(dtype.func) == "dtype" and len(dtype.args) == 1 and _is_of_numbers(dtype.args[0])
    return last_name(dtype) in _NUMBERS
