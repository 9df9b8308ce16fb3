"""Keeps an interrupt that a library swallows: Arrow clears what Python code that it calls raises, or tells of another
error."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class Interrupts:
    """Whether a run has been interrupted."""

    def __init__(self) -> None:
        self.came = False

    def check(self) -> None:
        """Raise KeyboardInterrupt once more where it has been swallowed."""
        if self.came:
            raise KeyboardInterrupt

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Inside, SIGINT is noted before KeyboardInterrupt is raised, unless it is ignored, or is not Python's."""
        is_ours = threading.current_thread() is threading.main_thread()
        if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.default_int_handler(number, frame)
