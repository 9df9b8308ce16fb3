"""Tells if the running code is code that `torch.compile` would compile: in there `.numpy()` and NumPy are torch's.

They raise neither for grad nor for a device there. Not so in what `torch.compiler.disable` excepts, in libraries that
torch leaves alone (scikit-learn, pandas), and in functions of NumPy's that torch has not: these see real arrays.
"""

from __future__ import annotations

import functools
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tonumpy.rehearsal.own_code import is_of_torch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


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
