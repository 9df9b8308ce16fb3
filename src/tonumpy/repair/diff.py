"""The difference of a file's old and new bytes as a patch, every line in the encoding of the file."""

import difflib
import os
from collections.abc import Iterator
from io import BytesIO
from typing import Literal

from tonumpy.text.visible import visible, without_commands

_Tag = Literal["replace", "delete", "insert", "equal"]


def unified_diff(filename: str, old: bytes, new: bytes) -> Iterator[bytes]:
    """Lines end at newlines only, as they do for `patch` and `git apply`; a carriage return is part of its line."""
    name = _quoted(filename)
    if old != new:
        yield from (b"--- %b\n" % name, b"+++ %b\n" % name)
    lines = _Lines(BytesIO(old).readlines(), BytesIO(new).readlines())
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


MAX_SEARCHED = 10_000  # lines; of more, where some were joined, the file is given as a whole


class _Lines(difflib.SequenceMatcher):  # type: ignore[type-arg]
    """Old and new lines, which are compared row by row where there are as many, as nearly always: difflib's own search
    takes time by the square of their number where edits are many."""

    def __init__(self, old: list[bytes], new: list[bytes]) -> None:
        super().__init__(None, old, new)
        self.old, self.new = old, new

    def get_opcodes(self) -> list[tuple[_Tag, int, int, int, int]]:
        if len(self.old) != len(self.new):
            is_long = len(self.old) > MAX_SEARCHED
            return [("replace", 0, len(self.old), 0, len(self.new))] if is_long else super().get_opcodes()
        found: list[tuple[_Tag, int, int, int, int]] = []
        for row, (old, new) in enumerate(zip(self.old, self.new, strict=True)):
            tag: _Tag = "equal" if old == new else "replace"
            start = found.pop()[1] if found and found[-1][0] == tag else row
            found.append((tag, start, row + 1, start, row + 1))
        return found


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
