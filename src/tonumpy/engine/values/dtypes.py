"""From the name of a dtype to whether it is integral, real or complex, or none of NumPy's; and the join of two dtypes.

Where the code in sight chooses one at run time that NumPy lacks, all that it may be is the name: "bfloat16 or float32".
"""

from __future__ import annotations

from collections.abc import Iterable

# What makes a tensor of a dtype that NumPy has of one that it lacks; None where torch has nothing for it.
LINKS_OF_DTYPE: dict[str, str | None] = {
    **dict.fromkeys(
        "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split(), "float"
    ),
    "float4_e2m1fn_x2": None,
    **dict.fromkeys("complex32 chalf".split(), "cfloat"),
    **dict.fromkeys("quantized qint8 quint8 qint32 quint4x2 quint2x4".split(), "dequantize"),
}
OTHER = "another"  # one that nothing in sight names
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
    """True if it is, or by a choice in sight may be, one that NumPy lacks."""
    return dtype is not None and (dtype in LINKS_OF_DTYPE or _OR in dtype)


def is_choice(dtype: str | None) -> bool:
    return dtype is not None and _OR in dtype


def choices(dtype: str | None) -> tuple[str, ...]:
    """Return what it may be, those first that NumPy lacks."""
    return (OTHER,) if dtype is None else tuple(dtype.split(_OR))


def choice_of(dtypes: Iterable[str | None]) -> str | None:
    """One of several; None where NumPy has all of them."""
    names = {_SHORT.get(name, name) for dtype in dtypes for name in choices(dtype)}
    lacking = names & LINKS_OF_DTYPE.keys()
    others = names - lacking - {OTHER}
    ordered = (*sorted(lacking), *sorted(others), *sorted(names & {OTHER}))
    return _OR.join(ordered) if lacking else None


def link_of_dtype(dtype: str | None) -> str | None:
    """The method of torch that makes one which NumPy has of all that NumPy lacks; None if there is none."""
    links = {LINKS_OF_DTYPE[name] for name in choices(dtype) if name in LINKS_OF_DTYPE}
    return links.pop() if len(links) == 1 else None


def is_widened_safely(dtype: str | None) -> bool:
    """True if `.float()` leaves all else that it may be as it is."""
    return all(name in LINKS_OF_DTYPE or name == "float32" for name in choices(dtype))


def is_integral(dtype: str | None) -> bool:
    """Integers and booleans: tensors of these never require grad."""
    return dtype in _INTEGRAL


_REAL = frozenset(("float16", "float32", "float64", "bfloat16", "half", "float", "double"))


def is_dtype_name(name: str) -> bool:
    return name in _INTEGRAL or name in _FLOATING or (name in LINKS_OF_DTYPE and name != "quantized")


def is_real(dtype: str | None) -> bool:
    """A floating point dtype in which torch computes: 16 bits or more."""
    return dtype in _REAL or (is_choice(dtype) and {*_REAL, OTHER}.issuperset(choices(dtype)))


def is_complex(dtype: str | None) -> bool:
    """A complex dtype, or "complex" where only that is known."""
    return dtype is not None and dtype.startswith(("complex", "chalf", "cfloat", "cdouble"))
