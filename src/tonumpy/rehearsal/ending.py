"""The end of a rehearsed process: behind the program's own `atexit` functions, when Python has waited for its threads.

Nothing is joined or waited for here, so a program ends under a rehearsal whenever it ends without.
"""

from __future__ import annotations

import ctypes
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.rehearsal.recorder import Recorder

_PAUSE = 0.05  # seconds in which a thread of torch's own can come out of the stand-in


class Ending:
    """`end` is to be registered with `atexit` before the program, and torch, are imported: it is called last then."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._recorder: Recorder | None = None

    def begin(self, text: str, *, is_first: bool = False) -> Recorder:
        """Rehearse in this process, as an order says, until it ends; ImportError where there is no torch.

        `is_first`: it is the process of the program itself."""
        from tonumpy.rehearsal.following import rehearsing  # start-up

        self._recorder = self._stack.enter_context(rehearsing(text, is_first=is_first))
        return self._recorder

    def end(self) -> None:
        if self._recorder is None:
            return
        self._recorder.end()
        if threading.active_count() == 1:
            self._stack.close()
            return
        # A daemon thread may compute on the stand-in until there is no Python any more. So it stays, and for good: what
        # nothing refers to is taken apart while Python ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        time.sleep(_PAUSE)
