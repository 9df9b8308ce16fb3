"""Finds the lines of the user's own code in the traceback of an error, and in those of the errors that it came of."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tonumpy.rehearsal.own_code import is_own

if TYPE_CHECKING:
    from types import TracebackType

    Line = tuple[str, int]  # the absolute path and the row

# An error that comes from a worker has the traceback in its text.
_IN_TEXT = re.compile(r'(?m)^\s*File "([^"\n]+)", line (\d+)')


def failure_of(error: BaseException) -> tuple[str, list[Line], Line | None]:
    """What `spool.Failure` is made of: the error's type, all lines, and the innermost one of the error itself."""
    kind = "" if isinstance(error, SystemExit) else type(error).__name__
    own = _lines(error.__traceback__)
    found, known = dict.fromkeys(own), set[int]()
    each: BaseException | None = error
    while each is not None and id(each) not in known:
        known.add(id(each))
        found.update(dict.fromkeys(_lines(each.__traceback__)))
        told = ((os.path.abspath(path), int(row)) for path, row in _IN_TEXT.findall(str(each)) if is_own(path))
        found.update(dict.fromkeys(told))
        each = each.__cause__ or each.__context__
    return kind, list(found), own[-1] if own else None


def in_one_line(message: str) -> str:
    """The first line and, of what a worker has sent with its traceback, the last, which is its own error."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if len(lines) < 2:
        return "".join(lines)
    return f"{lines[0]} ... {lines[-1]}" if _IN_TEXT.search(message) else f"{lines[0]} ..."


def in_words_of(error: BaseException, device: str) -> None:
    """Let an error that the program did not catch, and those that it came of, name the device as the program does."""
    each: BaseException | None = error
    known = set[int]()
    while each is not None and id(each) not in known:
        known.add(id(each))
        each.args = tuple(_named(value, device) if isinstance(value, str) else value for value in each.args)
        each = each.__cause__ or each.__context__


def _named(text: str, device: str) -> str:
    return re.sub(r"\bmaia\b", device, re.sub(r"\bMAIA\b", device.upper(), text))


def _lines(traceback: TracebackType | None) -> list[Line]:
    found = []
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if is_own(filename):
            found.append((os.path.abspath(filename), traceback.tb_lineno))
        traceback = traceback.tb_next
    return found
