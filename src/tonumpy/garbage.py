"""Keeps Python's garbage collector from going through what a piece of work keeps, over and over again."""

from __future__ import annotations

import gc


class Paused:
    """The collector is off inside `with Paused():`, and on again behind it if it was on before."""

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
