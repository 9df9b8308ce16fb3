"""Makes a patch from a file's old and new bytes, every line in the encoding of the file."""

import difflib
import os
from collections.abc import Iterator
from io import BytesIO

from tonumpy.text.visible import visible, without_commands


def unified_diff(filename: str, old: bytes, new: bytes) -> Iterator[bytes]:
    """The lines of a unified diff. As for `patch` and `git apply`, only newlines end a line, not carriage returns."""
    name = _quoted(filename)
    lines = BytesIO(old).readlines(), BytesIO(new).readlines()
    for line in difflib.diff_bytes(difflib.unified_diff, *lines, name, name):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _quoted(filename: str) -> bytes:
    """A file name, quoted as by git and `patch` if it would otherwise be cut off, be taken for lines of the patch, or
    be a command to the terminal or CI runner that shows it."""
    name = os.fsencode(filename)
    if name.strip() == name and without_commands(filename) == filename and all(map(_is_plain, filename)):
        return name + b"\t" if b" " in name else name  # what follows the tab is a date
    return b'"%b"' % b"".join(map(_escaped, filename))


def _is_plain(character: str) -> bool:
    """True if a character needs no escape; a surrogate, an undecodable byte, does."""
    return character not in '"\\' and visible(character) == character and not "\ud800" <= character <= "\udfff"


def _escaped(character: str) -> bytes:
    data = os.fsencode(character)
    if character in '"\\':
        return b"\\%b" % data
    return data if character != "#" and _is_plain(character) else b"".join(b"\\%03o" % byte for byte in data)
