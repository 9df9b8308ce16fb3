"""Pauses Python's garbage collector, which would traverse long-lived objects again and again."""

from __future__ import annotations

import gc


class Paused:
    """Context manager: the collector is off inside, and on again afterwards if it was on before."""

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
