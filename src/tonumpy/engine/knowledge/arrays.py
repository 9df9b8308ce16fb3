"""From a NumPy call to the least number of dimensions of its result; None if that may be no array.

Of a scalar of NumPy, which `x.mean()` gives and arithmetic on an array without dimensions, operators make something
else.
"""

from __future__ import annotations

from collections.abc import Iterable

from tonumpy.engine.values.values import Arguments, Constant, NonTensor, Sequence, Tensor, Value, is_number

# By the functions of NumPy that give an array whatever they are given, with how many dimensions at least.
_MADE = {
    **dict.fromkeys("empty_like full_like ones_like zeros_like where".split(), 0),
    **dict.fromkeys("append arange argsort atleast_1d bincount concatenate convolve cumsum diag diff".split(), 1),
    **dict.fromkeys("bartlett blackman cumprod fft.fftfreq fft.rfftfreq hamming hanning kaiser".split(), 1),
    **dict.fromkeys("flatnonzero frombuffer fromiter geomspace hstack linspace logspace ravel repeat".split(), 1),
    **dict.fromkeys("random.permutation sort stack tile".split(), 1),
    **dict.fromkeys("argwhere atleast_2d column_stack diagflat eye identity tri tril triu vander vstack".split(), 2),
    "dstack": 3,
}
_OF_SHAPE = frozenset("empty full ones zeros random.random random.random_sample".split())
_OF_SIZE = {"choice": 1, "normal": 2, "uniform": 2, "randint": 2, "binomial": 2, "poisson": 1, "exponential": 1}
# Universal functions, and others that keep the shape of an array.
_KEEPING = frozenset(
    "abs absolute around ceil clip copy cos exp exp2 expm1 fabs flip floor isfinite isinf isnan log log10 log1p log2"
    " logical_not maximum minimum nan_to_num negative pad rint roll round sign sin sqrt square tan tanh"
    " transpose".split()
)
_REDUCING = frozenset("all any argmax argmin max mean median min prod ptp std sum var nanmean nanmax nanmin".split())
_KEEPING_METHODS = frozenset("astype byteswap clip conj conjugate copy round transpose view".split())
_FLAT_METHODS = frozenset(("flatten", "ravel", "repeat"))


def dimensions_of(value: Value | None) -> int | None:
    """The least number of dimensions of a value; None if it may be no array."""
    return value.dimensions if isinstance(value, NonTensor) else None


def made_by_numpy(name: str, arguments: Arguments) -> int | None:
    """Return the dimensions of what `numpy.zeros(...)` gives, by the name of the function behind `numpy.`."""
    first = arguments.get(0, "a")
    if name in ("array", "asarray", "ascontiguousarray"):
        return _of_data(arguments.get(0, "object") or first)
    if name in _OF_SHAPE:
        return _of_shape(arguments.get(0, "shape") or arguments.named_value("size"))
    if name in ("random.rand", "random.randn"):
        return len(arguments.positional) or None if not arguments.has_star else None
    if name.startswith("random.") and name[7:] in _OF_SIZE:
        size = arguments.get(_OF_SIZE[name[7:]], "size")
        return None if size is None else _of_shape(size)
    if name == "where" and len(arguments.values()) != 3:
        return None
    if name == "reshape":
        return None if dimensions_of(first) is None else _of_shape(arguments.get(1, "shape"))
    if name == "expand_dims":
        held = dimensions_of(first)
        return None if held is None else held + 1
    if name in _KEEPING:
        return of_arithmetic(value for value in arguments.values()[: 2 if name in ("maximum", "minimum") else 1])
    if name in _REDUCING:
        return _reduced(dimensions_of(first), arguments, 1)
    return _MADE.get(name)


def gives_number(name: str, arguments: Arguments) -> bool:
    """True if a universal function is given nothing but a number: `np.sqrt(252)`."""
    given = arguments.values()
    return keeps_shape(name) and len(given) == 1 and is_number(given[0])


def keeps_shape(name: str) -> bool:
    """True if a function of NumPy, by its name, makes an array of an array, and a number of a number."""
    return name in _KEEPING


def made_by_method(dimensions: int, name: str, arguments: Arguments) -> int | None:
    """Return the dimensions of what a method of an array gives."""
    if name in _KEEPING_METHODS:
        return dimensions
    if name in _FLAT_METHODS:
        return 1
    if name == "reshape" and arguments.positional and not arguments.has_star:
        given = arguments.positional
        return _of_shape(given[0]) if len(given) == 1 else len(given)
    if name == "squeeze":
        return 0
    return _reduced(dimensions, arguments, 0) if name in _REDUCING else None


def of_attribute(dimensions: int, name: str) -> int | None:
    return dimensions if name in ("T", "real", "imag") else None


def of_item(dimensions: int, index: Value, *, is_slice: bool) -> int | None:
    """Return the dimensions of `array[index]`: an array or list as an index keeps one, a number takes one away."""
    if is_slice:
        return max(dimensions, 1)
    parts = index.items if isinstance(index, Sequence) and index.items else (index,)
    if any(isinstance(part, NonTensor) and part.what == "slice" for part in parts):
        kept = sum(isinstance(part, NonTensor) and part.what == "slice" for part in parts)
        return max(kept, dimensions - len(parts) + kept)
    if any((dimensions_of(part) or 0) > 0 for part in parts):
        return 1
    left = dimensions - len(parts)
    return left if left > 0 and all(map(_is_number, parts)) else None


def of_iteration(dimensions: int) -> int | None:
    return dimensions - 1 if dimensions > 1 else None


def of_arithmetic(operands: Iterable[Value]) -> int | None:
    """Return the dimensions of what operators and ufuncs make: of an array without dimensions they make a scalar."""
    found: list[int] = []
    for operand in operands:
        held = dimensions_of(operand)
        if held is not None:
            found.append(held)
        elif not isinstance(operand, (NonTensor, Constant)):
            return None
    return max(found) or None if found else None


def _of_data(data: Value | None) -> int | None:
    depth = 0
    while isinstance(data, Sequence) and data.items != ():
        depth, data = depth + 1, data.element
    return depth + (dimensions_of(data) or 0)


def _of_shape(shape: Value | None) -> int | None:
    if shape is None:
        return None
    if isinstance(shape, Sequence):
        return 1 if shape.items is None else len(shape.items)
    return None if isinstance(shape, Constant) and shape.value is None else 1


def _reduced(dimensions: int | None, arguments: Arguments, position: int) -> int | None:
    if dimensions is None:
        return None
    kept = arguments.named_value("keepdims")
    if isinstance(kept, Constant) and kept.value is True:
        return dimensions
    axis = arguments.get(position, "axis")
    is_one = isinstance(axis, Constant) and type(axis.value) is int
    return dimensions - 1 if is_one and dimensions > 1 else None


def _is_number(index: Value) -> bool:
    return not isinstance(index, (Sequence, Tensor)) and dimensions_of(index) is None
