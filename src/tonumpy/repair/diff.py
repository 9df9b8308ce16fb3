"""The difference of a file's old and new bytes as a patch, every line in the encoding of the file."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

from tonumpy.text.visible import visible, without_commands

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    _Tag = Literal["replace", "delete", "insert", "equal"]

MAX_SEARCHED = 1000  # lines between two that occur once; more of them are given as a whole


def unified_diff(filename: str, old: bytes, new: bytes) -> Iterator[bytes]:
    """Lines end at newlines only, as they do for `patch` and `git apply`; a carriage return is part of its line."""
    name = _quoted(filename)
    if old != new:
        yield from (b"--- %b\n" % name, b"+++ %b\n" % name)
    lines = _Lines(_lines(old), _lines(new))
    for group in lines.get_grouped_opcodes():
        spans = _span(group[0][1], group[-1][2]), _span(group[0][3], group[-1][4])
        yield b"@@ -%b +%b @@\n" % spans
        for tag, start, end, start_of_new, end_of_new in group:
            sign = b" " if tag == "equal" else b"-"
            yield from (_told(sign, line) for line in lines.old[start:end])
            if tag != "equal":
                yield from (_told(b"+", line) for line in lines.new[start_of_new:end_of_new])


def _span(start: int, end: int) -> bytes:
    """The range of a hunk as `patch` reads it: an empty one stands behind the line before it."""
    length = end - start
    return b"%d" % (start + 1) if length == 1 else b"%d,%d" % (start + bool(length), length)


def _told(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n\\ No newline at end of file\n"


class _Lines(difflib.SequenceMatcher):  # type: ignore[type-arg]
    """Old and new lines that are matched in linear time: edits are local, and keep the order of all that they leave.

    difflib's own search takes time by the square of the number of lines where many of them are the same.
    """

    def __init__(self, old: list[bytes], new: list[bytes]) -> None:
        super().__init__()
        self.old, self.new = old, new

    def get_opcodes(self) -> list[tuple[_Tag, int, int, int, int]]:
        found: list[tuple[_Tag, int, int, int, int]] = []
        for each in self._parts():
            if found and found[-1][0] == each[0]:
                found[-1] = (*found[-1][:2], each[2], found[-1][3], each[4])
            else:
                found.append(each)
        return found

    def _parts(self) -> Iterator[tuple[_Tag, int, int, int, int]]:
        at = at_new = 0
        for here, there in (*self._anchors(), (len(self.old), len(self.new))):
            gap, gap_of_new = self.old[at:here], self.new[at_new:there]
            if len(gap) == len(gap_of_new):
                for number, (line, line_of_new) in enumerate(zip(gap, gap_of_new, strict=True)):
                    row, row_of_new = at + number, at_new + number
                    yield ("equal" if line == line_of_new else "replace"), row, row + 1, row_of_new, row_of_new + 1
            elif max(len(gap), len(gap_of_new)) > MAX_SEARCHED:
                yield "replace", at, here, at_new, there
            else:
                for tag, *rows in difflib.SequenceMatcher(None, gap, gap_of_new, autojunk=False).get_opcodes():
                    yield tag, rows[0] + at, rows[1] + at, rows[2] + at_new, rows[3] + at_new
            at, at_new = here, there

    def _anchors(self) -> Iterator[tuple[int, int]]:
        """Lines that occur once in both, where lines were taken away or added."""
        if len(self.old) == len(self.new):
            return
        once, once_of_new = _once(self.old), _once(self.new)
        last = -1
        for line, row in once.items():
            row_of_new = once_of_new.get(line, -1)
            if row_of_new > last:
                last = row_of_new
                yield row, row_of_new


def _once(lines: list[bytes]) -> dict[bytes, int]:
    """The rows of the lines that occur once, in order."""
    rows: dict[bytes, int] = {}
    for row, line in enumerate(lines):
        rows[line] = -1 if line in rows else row
    return {line: row for line, row in rows.items() if row >= 0}


def _quoted(filename: str) -> bytes:
    """A file name as git and `patch` quote one that would else be cut off, be taken for lines of the patch, or
    command the terminal or the runner of CI that shows it."""
    name = os.fsencode(filename)
    if name.strip() == name and without_commands(filename) == filename and all(map(_is_plain, filename)):
        return name + b"\t" if b" " in name else name  # what follows the tab is a date
    return b'"%b"' % b"".join(map(_escaped, filename))


def _is_plain(character: str) -> bool:
    """A surrogate stands for a byte that is no text."""
    return character not in '"\\' and visible(character) == character and not "\ud800" <= character <= "\udfff"


def _escaped(character: str) -> bytes:
    data = os.fsencode(character)
    if character in '"\\':
        return b"\\%b" % data
    return data if character != "#" and _is_plain(character) else b"".join(b"\\%03o" % byte for byte in data)


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
