"""Begins a rehearsal in a process, and makes the processes that it starts follow."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tonumpy.rehearsal.environment import NAMES, hooked, order_of
from tonumpy.rehearsal.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def rehearsing(text: str, *, is_first: bool = False) -> Iterator[Recorder]:
    """Carry out an order, in this process and in those that it starts; ImportError where there is no torch.

    `is_first`: it is the process of the program itself.
    """
    import torch  # noqa: F401 -- the user's own

    from tonumpy.rehearsal.child_processes import watching  # start-up
    from tonumpy.rehearsal.standin import pretend  # with torch: start-up

    order = order_of(text)
    recorder = Recorder(order.folder, is_first=is_first)
    former = {name: os.environ.get(name) for name in NAMES}
    os.environ.update(hooked(os.environ, text))
    try:
        pretended = pretend(order.device, recorder, stop=order.stop, devices=order.devices)
        with pretended as recorder.before_end, watching(recorder, text):
            yield recorder
    finally:
        for name, value in former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
