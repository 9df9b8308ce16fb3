"""Keeps Python's garbage collector from going through what a piece of work keeps, over and over again."""

from __future__ import annotations

import gc

ENOUGH = 20_000  # objects, to be worth a collection


class Paused:
    """The collector is off inside `with Paused():`, and on again behind it if it was on before."""

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()


class Sheltered(Paused):
    """Pauses the collector for work that is one part of a program, such as a plugin's.

    What the work leaves lives to the end, and whenever the rest of the program has its garbage collected, the collector
    would go through that too. So it is taken out of the collector's sight, with all else that lives then; a collection
    comes first, as garbage would stay for ever. That is done each time that what is in sight has grown by a fourth of
    what is not, as Python itself does before it goes through everything.
    """

    def __init__(self) -> None:
        self._in_sight = 0
        self._out_of_sight = 0

    def __enter__(self) -> None:
        super().__enter__()
        self._before = gc.get_count()[0]

    def __exit__(self, *_: object) -> None:
        self._in_sight += gc.get_count()[0] - self._before  # made inside and still there
        super().__exit__()
        if self._was_on and self._in_sight > max(ENOUGH, self._out_of_sight // 4):
            gc.collect()
            gc.freeze()
            self._out_of_sight += self._in_sight
            self._in_sight = 0
