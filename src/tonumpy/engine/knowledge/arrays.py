"""Least number of dimensions of NumPy arrays, by the functions and methods that made them.

1 if an array has dimensions, 0 if it may have none, None if it may be no array. Operators turn an array without
dimensions into a NumPy scalar, which mixes with tensors.
"""

from __future__ import annotations

from collections.abc import Iterable

from tonumpy.engine.values import values as v

# NumPy functions whose result always has dimensions.
_MADE = frozenset(
    "append arange argsort argwhere atleast_1d atleast_2d bincount blackman column_stack concatenate convolve cumsum"
    " diag diff dstack eye fft.fftfreq fft.rfftfreq flatnonzero frombuffer fromiter geomspace hamming hanning hstack"
    " identity linspace logspace random.permutation ravel repeat sort stack tile tri tril triu vander vstack".split()
)
_OF_SHAPE = frozenset("empty full ones zeros random.random random.random_sample".split())
# Universal functions, and others that keep the shape of an array.
_KEEPING = frozenset(
    "abs absolute around ceil clip copy cos exp exp2 expm1 fabs flip floor isfinite isinf isnan log log10 log1p log2"
    " logical_not maximum minimum nan_to_num negative pad rint roll round sign sin sqrt square tan tanh"
    " transpose".split()
)
_KEEPING_METHODS = frozenset("astype byteswap clip conj conjugate copy round transpose view".split())
_FLAT_METHODS = frozenset(("flatten", "ravel", "repeat", "reshape"))


def dimensions_of(value: v.Value | None) -> int | None:
    """The least number of dimensions of a value, 0 or 1; None if it may be no array."""
    return value.dimensions if isinstance(value, v.NonTensor) else None


def made_by_numpy(name: str, arguments: v.Arguments) -> int | None:
    """The dimensions of the result of a NumPy function, `numpy.zeros(...)`; the name is without `numpy.`."""
    if name in ("array", "asarray", "ascontiguousarray"):
        data = arguments.get(0, "object") or arguments.named_value("a")
        return 1 if isinstance(data, v.Sequence) and data.items != () else dimensions_of(data) or 0
    if name in _OF_SHAPE:
        return _of_shape(arguments.get(0, "shape") or arguments.named_value("size"))
    if name.startswith("random."):
        return _of_shape(arguments.named_value("size"))
    if name in _KEEPING:
        return of_arithmetic(arguments.values()[: 2 if name in ("maximum", "minimum") else 1])
    return 1 if name in _MADE else None


def gives_number(name: str, arguments: v.Arguments) -> bool:
    """True if the only argument of a universal function is a number: `np.sqrt(252)`."""
    given = arguments.values()
    return name in _KEEPING and len(given) == 1 and v.is_number(given[0])


def made_by_method(dimensions: int, name: str) -> int | None:
    """The dimensions of the result of an array's method."""
    return dimensions if name in _KEEPING_METHODS else 1 if name in _FLAT_METHODS else None


def of_item(index: v.Value, *, is_slice: bool) -> int | None:
    """The dimensions of `array[index]`: 1 if the index is or contains a slice or an array."""
    parts = index.items if isinstance(index, v.Sequence) and index.items else (index,)
    has_slice = any(isinstance(part, v.NonTensor) and part.what == "slice" for part in parts)
    return 1 if is_slice or has_slice or any(dimensions_of(part) for part in parts) else None


def of_arithmetic(operands: Iterable[v.Value]) -> int | None:
    """The dimensions of the result of operators and ufuncs; they turn an array without dimensions into a scalar."""
    parts = list(operands)
    is_plain = all(isinstance(each, (v.NonTensor, v.Constant)) for each in parts)
    return 1 if is_plain and any(dimensions_of(each) for each in parts) else None


def _of_shape(shape: v.Value | None) -> int | None:
    if shape is None or (isinstance(shape, v.Constant) and shape.value is None):
        return None
    return min(1, len(shape.items)) if isinstance(shape, v.Sequence) and shape.items is not None else 1
