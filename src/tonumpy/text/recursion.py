"""Which answers were cut short because Python recurses no deeper: they depend on how deep the stack was already.

What is cut has no hands to pass an object on with, so this is kept for the whole process.
"""

from __future__ import annotations

_cuts = [0]
_files: set[str] = set()


def note_cut() -> None:
    """An answer about the file at hand was cut."""
    _cuts[0] += 1


def note_cut_file(filename: str | None) -> None:
    """The text of a file could not be gone through, which every file that asks for it builds on; None for any file."""
    note_cut()
    _files.add(filename or "")


def cuts() -> int:
    """Of the whole process so far."""
    return _cuts[0]


def is_cut(filename: str) -> bool:
    return filename in _files or "" in _files
