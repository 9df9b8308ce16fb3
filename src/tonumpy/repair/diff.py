"""The difference of a file's old and new bytes as a patch, every line in the encoding of the file."""

from __future__ import annotations

import difflib
import os

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def unified_diff(filename: str, old: bytes, new: bytes) -> Iterator[bytes]:
    """Lines end at newlines only, as they do for `patch` and `git apply`; a carriage return is part of its line."""
    name = _quoted(os.fsencode(filename))
    for line in difflib.diff_bytes(difflib.unified_diff, _lines(old), _lines(new), name, name):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _quoted(name: bytes) -> bytes:
    """As git and `patch` write and read a name that would else be cut off, or taken for lines of the patch."""
    if name.strip() == name and not any(byte < 0x20 or byte in b'"\\\x7f' for byte in name):
        return name + b"\t" if b" " in name else name  # what follows the tab is a date
    return b'"%b"' % b"".join(_ESCAPED.get(byte) or bytes((byte,)) for byte in name)


_ESCAPED = {byte: b"\\%03o" % byte for byte in (*range(0x20), 0x7F)} | {byte: b"\\%c" % byte for byte in b'"\\'}


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]
