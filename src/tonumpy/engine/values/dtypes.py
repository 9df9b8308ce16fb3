"""Classify dtype names: integral, real, complex, or unsupported by NumPy; and join two dtypes.

A dtype that the code chooses at run time, and that NumPy may lack, is named by all choices: "bfloat16 or float32".
"""

from __future__ import annotations

from collections.abc import Iterable

# The method that converts a dtype NumPy lacks to one it has; None where torch has no such method.
LINKS_OF_DTYPE: dict[str, str | None] = {
    **dict.fromkeys(
        "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split(), "float"
    ),
    "float4_e2m1fn_x2": None,
    **dict.fromkeys("complex32 chalf".split(), "cfloat"),
    **dict.fromkeys("quantized qint8 quint8 qint32 quint4x2 quint2x4".split(), "dequantize"),
}
OTHER = "another"  # a dtype that the code does not name
_OR = " or "
_SHORT = {"half": "float16", "float": "float32", "double": "float64"}

_INTEGRAL = frozenset("integral bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 short int long".split())
_FLOATING = frozenset("float16 float32 float64 half float double complex complex64 complex128 cfloat cdouble".split())


def join_dtype(first: str | None, second: str | None) -> str | None:
    """The dtype if both are the same, "integral" if both are integral, a choice if NumPy lacks one, else None."""
    if first == second:
        return first
    if may_lack(first) or may_lack(second):
        return choice_of((first, second))
    return "integral" if is_integral(first) and is_integral(second) else None


def may_lack(dtype: str | None) -> bool:
    """True if the dtype, or one of the choices in its name, is one that NumPy lacks."""
    return dtype is not None and (dtype in LINKS_OF_DTYPE or _OR in dtype)


def is_choice(dtype: str | None) -> bool:
    return dtype is not None and _OR in dtype


def choices(dtype: str | None) -> tuple[str, ...]:
    """The dtypes in a name of choices, those that NumPy lacks first."""
    return (OTHER,) if dtype is None else tuple(dtype.split(_OR))


def choice_of(dtypes: Iterable[str | None]) -> str | None:
    """The name for a choice of several dtypes; None if NumPy has all of them."""
    names = {_SHORT.get(name, name) for dtype in dtypes for name in choices(dtype)}
    lacking = names & LINKS_OF_DTYPE.keys()
    others = names - lacking - {OTHER}
    ordered = (*sorted(lacking), *sorted(others), *sorted(names & {OTHER}))
    return _OR.join(ordered) if lacking else None


def link_of_dtype(dtype: str | None) -> str | None:
    """The method that converts every dtype of this name that NumPy lacks; None if no single one does."""
    links = {LINKS_OF_DTYPE[name] for name in choices(dtype) if name in LINKS_OF_DTYPE}
    return links.pop() if len(links) == 1 else None


def is_widened_safely(dtype: str | None) -> bool:
    """True if `.float()` changes only the choices that NumPy lacks: all others are float32."""
    return all(name in LINKS_OF_DTYPE or name == "float32" for name in choices(dtype))


def is_integral(dtype: str | None) -> bool:
    """True for integers and booleans, whose tensors never require grad."""
    return dtype in _INTEGRAL


_REAL = frozenset(("float16", "float32", "float64", "bfloat16", "half", "float", "double"))


def is_dtype_name(name: str) -> bool:
    return name in _INTEGRAL or name in _FLOATING or (name in LINKS_OF_DTYPE and name != "quantized")


def is_real(dtype: str | None) -> bool:
    """True for a floating point dtype in which torch computes: 16 bits or more."""
    return dtype in _REAL or (is_choice(dtype) and {*_REAL, OTHER}.issuperset(choices(dtype)))


def is_complex(dtype: str | None) -> bool:
    """True for a complex dtype, or "complex" where only that is known."""
    return dtype is not None and dtype.startswith(("complex", "chalf", "cfloat", "cdouble"))
