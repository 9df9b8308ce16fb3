"""The read set of a file on disk: which questions its check asked of the disk, and the answers. It is the cache key.

Equal text, settings and answers give equal findings, so findings may be kept under these answers (see cache/). Each is
plain data, as JSON knows it.

A new kind of question needs two things: a call of `Project.note` wherever it is answered, also where the project knows
the answer from an earlier file; and in cache/lookup_answers.py how it is asked again, and what is kept of a long answer
(of a search through all files, say).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import _blake2
    import os
    from collections.abc import Iterable, Sequence
    from typing import Any

FOLDER = "folder"  # what is at a path that is asked for a module is a folder without __init__.py
TOO_LARGE = "too large"
SETTLED = 2_000_000_000  # nanoseconds: the coarsest time stamps of a file system that is in use


class Stamp(NamedTuple):
    """What the system says of a file without reading it: when it was written, when anything of it changed, and which
    it is. As long as all of it is the same, so is the content."""

    modified: int
    changed: int
    size: int
    inode: int


class Content(NamedTuple):
    """A file that was read. `stamp` is None where the file had just been written, so that it may be written again
    within the same tick of the clock."""

    filename: str
    stamp: Stamp | None
    digest: str


class Lookup(NamedTuple):
    """One question, by its kind and subject, and its answer."""

    kind: str
    about: tuple[str, ...]
    answer: Sequence[Any]


def as_answer(content: Content) -> list[object]:
    """As JSON knows it."""
    return [content.filename, content.stamp and list(content.stamp), content.digest]


def stamp_of(found: os.stat_result) -> Stamp:
    return Stamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def settled(stamp: Stamp, now: int) -> Stamp | None:
    """A stamp that was seen at `now`, if the next change is sure to show in it."""
    return stamp if max(stamp.modified, stamp.changed) < now - SETTLED else None


def content_of(filename: str, data: bytes, found: os.stat_result) -> Content:
    """`found` is what the system said before the data was read."""
    import time  # where nothing is kept, it is not needed: start-up

    return Content(filename, settled(stamp_of(found), time.time_ns()), digest_of([data]))


def blake2b() -> type[_blake2.blake2b]:
    """hashlib's own, without hashlib, which loads OpenSSL: 5 ms; not loaded where nothing is kept."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b


def digest_of(parts: Iterable[bytes]) -> str:
    """One for the sequence of the parts: where one ends and the next begins counts."""
    digest = blake2b()(digest_size=16)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()
