"""Reads off a frame, by the text at its place, what it does, and if `torch.compile` would compile it.

In compiled code `.numpy()` and NumPy are torch's: they raise neither for grad nor for a device. Not so in what
`torch.compiler.disable` excepts, in libraries that torch leaves alone (scikit-learn, pandas), and in functions of
NumPy's that torch has not: these see real arrays.
"""

from __future__ import annotations

import ast
import functools
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tonumpy.rehearsal.frames import UNKNOWN, node_at, value_of
from tonumpy.rehearsal.own_code import is_of_torch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


def is_index(frame: FrameType) -> bool:
    """True if something is taken out of, or put into, an object by an index."""
    return node_at(frame, ast.Subscript) is not None


def is_operator(frame: FrameType) -> bool:
    """True if it is at an operator or a comparison, and not at a call."""
    return any(node_at(frame, kind) is not None for kind in (ast.BinOp, ast.Compare, ast.AugAssign))


def reads_item(frame: FrameType) -> bool:
    """True if something is taken out of an object by its index or key."""
    node = node_at(frame, ast.Subscript)
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)


def indexed(frame: FrameType) -> Any:
    """The object that is indexed there, where that is a name, an attribute of one, or one of Python's own sequences
    that is made there; else UNKNOWN."""
    node = node_at(frame, ast.Subscript)
    return value_of(node.value, frame) if isinstance(node, ast.Subscript) else UNKNOWN


class _Here(threading.local):
    """The state of a thread: whether what runs is compiled, for each call that changed that; and of which code that
    is not so."""

    calls: tuple[bool | Any, ...] = ()


here = _Here()


def is_compiled() -> bool:
    """True if the code that runs, innermost, would be compiled."""
    if not here.calls or here.calls[-1] is False:
        return False
    frame = innermost()
    if frame is None or _is_left_alone(frame.f_code.co_filename):
        return False
    return frame.f_code is not here.calls[-1]


@contextmanager
def calling(state: Any) -> Iterator[None]:
    before = here.calls
    here.calls = (*before, state)
    try:
        yield
    finally:
        here.calls = before


def innermost() -> FrameType | None:
    """The Python code that is at a conversion, without torch's own and ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_of_torch(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@functools.cache
def _is_left_alone(filename: str) -> bool:
    import torch._dynamo.trace_rules as trace_rules  # start-up

    return bool(trace_rules.check_file(filename, is_inlined_call=True).skipped)
