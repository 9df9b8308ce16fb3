"""Counts the answers that Python's recursion limit cut short: they depend on the depth of the stack at the call.

The code that hits the limit cannot return a flag, so this is kept for the whole process.
"""

from __future__ import annotations

_cuts = [0]
_files: set[str] = set()


def note_cut() -> None:
    """Note that an answer about the current file was cut."""
    _cuts[0] += 1


def note_cut_file(filename: str | None) -> None:
    """Note that the text of a file, on which others depend, could not be fully analysed; None stands for any file."""
    note_cut()
    _files.add(filename or "")


def cuts() -> int:
    """The number of answers cut in this process so far."""
    return _cuts[0]


def is_cut(filename: str) -> bool:
    """True if the text of this file could not be fully analysed."""
    return filename in _files or "" in _files
