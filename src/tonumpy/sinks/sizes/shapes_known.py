"""What is known of a tensor's shape: how many dimensions it has, and whether the first, or all, are of size one."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class One(IntEnum):
    """Whether a tensor has one element, and one dimension at least: not known, if what a model gave has two dimensions,
    where the last (`BY_LAST`) or the second (`BY_SECOND`) is reduced, or surely."""

    UNKNOWN = 0
    BY_LAST = 1
    BY_SECOND = 2
    SURE = 3


class Shape(NamedTuple):
    """`is_batch`: what a loader gives, whose tensors all have a first dimension of size one. `most`: no more than this
    is believed of `one`, as the rank is that of one row of what a model gave."""

    rank: int | None = None
    is_first_one: bool = False
    one: One = One.UNKNOWN
    is_batch: bool = False
    most: One = One.SURE

    @property
    def believed(self) -> One:
        return min(self.one, self.most)


UNKNOWN = Shape()
NUMBER = Shape(0)
ROW = Shape(1)


def of_sizes(sizes: list[int | None]) -> Shape:
    """Of sizes, None where one is not known."""
    is_one = bool(sizes) and all(each == 1 for each in sizes)
    return Shape(len(sizes), bool(sizes) and sizes[0] == 1, One.SURE if is_one else One.UNKNOWN)


def without(shape: Shape, dim: int) -> Shape:
    """What is left where one dimension is reduced."""
    if shape.rank is None:
        one = shape.one
        if shape.is_first_one and dim in (1, -1):
            one = max(one, One.BY_SECOND if dim == 1 else One.BY_LAST)
        return Shape(None, shape.is_first_one and dim != 0, one, most=shape.most)
    at, left = dim % shape.rank if shape.rank else 0, shape.rank - 1
    if left <= 0:
        return NUMBER
    is_first_one = shape.is_first_one and at != 0
    return Shape(left, is_first_one, One.SURE if left == 1 and is_first_one else shape.one, most=shape.most)


def with_one(shape: Shape, dim: int) -> Shape:
    """What is left where one dimension is cut to one of size one: `x.argmax(1, keepdim=True)`, `x.topk(1)`."""
    if shape.rank is None:
        return without(shape, dim)._replace(is_first_one=shape.is_first_one or dim == 0)
    if not shape.rank:
        return NUMBER
    at = dim % shape.rank
    is_one = shape.rank == 1 or (shape.rank == 2 and at == 1 and shape.is_first_one)
    one = One.SURE if is_one else shape.one
    return Shape(shape.rank, shape.is_first_one or at == 0, one, most=shape.most)


def first_of(shape: Shape) -> Shape:
    """`x[0]`: of what a model gave for one row, a row."""
    if shape.rank is None and shape.is_first_one:
        return Shape(1, most=One.BY_LAST)
    return without(shape, 0)


def unsqueezed(shape: Shape, dim: int) -> Shape:
    rank = None if shape.rank is None else shape.rank + 1
    if rank == 1:
        return Shape(1, True, One.SURE)
    return Shape(rank, dim == 0 or (shape.is_first_one and dim != -(rank or 0)), shape.one, most=shape.most)


def squeezed(shape: Shape, dim: int | None) -> Shape:
    if dim is None and shape.one == One.SURE:
        return NUMBER
    if dim in (0, None):
        return first_of(shape) if shape.is_first_one and shape.rank in (None, 2) else UNKNOWN
    if shape.rank is not None and shape.one == One.SURE:
        return Shape(shape.rank - 1, True, One.SURE) if shape.rank > 1 else NUMBER
    # A dimension of another size stays.
    return Shape(None, shape.is_first_one, One.UNKNOWN if shape.one == One.SURE else shape.one, most=shape.most)
