"""Begins a rehearsal in a process, and makes the processes that it starts follow."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack, contextmanager

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.rehearsal.order import VARIABLE, order_of
from tonumpy.rehearsal.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")


@contextmanager
def rehearsing(text: str) -> Iterator[Recorder]:
    """What an order asks for, in this process and in those that it starts; ImportError where there is no torch."""
    import torch  # noqa: F401 -- the user's own

    from tonumpy.rehearsal.leaving import watching  # start-up
    from tonumpy.rehearsal.standin import pretend  # with torch: start-up

    order = order_of(text)
    recorder = Recorder(order.folder)
    former = {name: os.environ.get(name) for name in (VARIABLE, "PYTHONPATH")}
    os.environ[VARIABLE] = text
    paths = [path for path in (former["PYTHONPATH"] or "").split(os.pathsep) if path not in ("", _CHILD)]
    os.environ["PYTHONPATH"] = os.pathsep.join([_CHILD, *paths])
    try:
        pretended = pretend(order.device, recorder, stop=order.stop, devices=order.devices)
        with pretended as recorder.before_end, watching(recorder):
            yield recorder
    finally:
        for name, value in former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def follow() -> None:
    """In a process that a rehearsed one has started, as soon as it has imported torch."""
    text = os.environ[VARIABLE]
    if os.path.isdir(order_of(text).folder):
        stack = ExitStack()
        recorder = stack.enter_context(rehearsing(text))
        atexit.register(stack.close)
        atexit.register(recorder.end)
