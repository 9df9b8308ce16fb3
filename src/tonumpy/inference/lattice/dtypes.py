"""From the name of a dtype to whether it is integral, real or complex; and the join of two dtypes."""

from __future__ import annotations

_INTEGRAL = frozenset(
    (
        "integral",
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint16",
        "uint32",
        "uint64",
        "short",
        "int",
        "long",
    )
)
_FLOATING = frozenset(
    (
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "half",
        "float",
        "double",
        "complex",
        "complex32",
        "complex64",
        "complex128",
        "chalf",
        "cfloat",
        "cdouble",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn_x2",
        "qint8",
        "qint32",
        "quint8",
        "quint4x2",
        "quint2x4",
    )
)


def join_dtype(first: str | None, second: str | None) -> str | None:
    """The dtype if both are the same, "integral" if both are integral, else None."""
    if first == second:
        return first
    return "integral" if is_integral(first) and is_integral(second) else None


def is_integral(dtype: str | None) -> bool:
    """Integers and booleans: tensors of these never require grad."""
    return dtype in _INTEGRAL


def is_dtype_name(name: str) -> bool:
    return name in _INTEGRAL or name in _FLOATING


def is_real(dtype: str | None) -> bool:
    """A floating point dtype in which torch computes: 16 bits or more."""
    return dtype in ("float16", "float32", "float64", "bfloat16", "half", "float", "double")


def is_complex(dtype: str | None) -> bool:
    """A complex dtype, or "complex" where only that is known."""
    return dtype is not None and dtype.startswith(("complex", "chalf", "cfloat", "cdouble"))
