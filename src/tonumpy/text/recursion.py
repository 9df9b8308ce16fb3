"""Counts the answers that were cut short by Python's limit of recursion: they depend on how deep the stack was already.

The code that hits the limit cannot return a flag, so this is kept for the whole process.
"""

from __future__ import annotations

_cuts = [0]
_files: set[str] = set()


def note_cut() -> None:
    """Note that an answer about the file at hand was cut."""
    _cuts[0] += 1


def note_cut_file(filename: str | None) -> None:
    """Note that the text of a file could not be gone through, on which other files build; None for any file."""
    note_cut()
    _files.add(filename or "")


def cuts() -> int:
    """The number of answers that were cut in this process so far."""
    return _cuts[0]


def is_cut(filename: str) -> bool:
    """True if the text of this file could not be gone through."""
    return filename in _files or "" in _files
