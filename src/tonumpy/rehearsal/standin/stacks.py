"""The stack of the thread that is running -> the calls in it, innermost first, without those of tonumpy."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tonumpy.rehearsal.events import Call

if TYPE_CHECKING:
    from types import CodeType, FrameType

_OWN = str(Path(__file__).parents[2])


class Stacks:
    """Reads stacks, and keeps the calls that it has made: most conversions are made again and again."""

    def __init__(self) -> None:
        self._calls: dict[tuple[CodeType, str, int], Call | None] = {}  # code is equal to the same code of another file

    def read(self) -> tuple[Call, ...]:
        """The stack of the caller, innermost call first."""
        found = []
        frame: FrameType | None = sys._getframe(1)
        calls = self._calls
        while frame is not None:
            code = frame.f_code
            key = (code, code.co_filename, frame.f_lasti)
            if key in calls:
                call = calls[key]
            else:
                call = calls[key] = _call(frame)
            if call is not None:
                found.append(call)
            frame = frame.f_back
        return tuple(found)


def _call(frame: FrameType) -> Call | None:
    code = frame.f_code
    if code.co_filename.startswith(_OWN):
        return None
    row, end_row, column, end_column = place_of(frame)
    return Call(code.co_filename, row, code.co_name, end_row, column, end_column)


def place_of(frame: FrameType) -> tuple[int, int | None, int | None, int | None]:
    """The first and the last row, and the columns (bytes from 0), of what it is at; with Python 3.10 the row alone."""
    if sys.version_info >= (3, 11) and frame.f_lasti >= 0:  # mypy reads this test, and no name for it
        place = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
        if place is not None and place[0] is not None:
            return place[0], *place[1:]
    return frame.f_lineno or 0, None, None, None
