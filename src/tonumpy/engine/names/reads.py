"""The read set of a file: what its check read of the disk, and the state of each path then. It is the key of the cache.

Equal text, settings and states give equal findings. A state is the digest of a file that was read, what there is at a
path that was only looked for, or the digest of the names of the modules in a folder.
"""

from __future__ import annotations

import _blake2
import os
from collections.abc import Callable, Hashable, Iterable
from typing import Literal, NamedTuple, TypeVar

from tonumpy.text.recursion import is_cut

_T = TypeVar("_T")

Kind = Literal["content", "kind", "names"]
States = dict[tuple[Kind, str], str]  # by path

ABSENT = ""


class NameSearch(NamedTuple):
    """A question to a repository, by its top folder: in which of its files does a name stand, by a pattern?"""

    top: str
    name: str
    pattern: str


class ReadSet(NamedTuple):
    """All that the findings of one file rest on beside its own text."""

    states: States
    searches: dict[NameSearch, list[str]]


class Reads:
    """Records what is read for the current file.

    What is worked out once for all files is read once and counts for each file that asks: `during` keeps what its work
    read under a key, and `repeat` counts it again. Nothing is recorded unless `records`.
    """

    def __init__(self, *, records: bool = False) -> None:
        self.records = records
        self._now = ReadSet({}, {})
        self._known: dict[Hashable, ReadSet] = {}
        self._is_torn = False

    def begin_file(self) -> None:
        """Forget what former files have read."""
        self._now, self._is_torn = ReadSet({}, {}), False

    def taken(self) -> ReadSet | None:
        """Return what the current file has read; None if it was changed meanwhile, or if an answer rests on Python's
        limit of recursion, and so on how deep the stack was."""
        return None if self._is_torn or any(is_cut(path) for _, path in self._now.states) else self._now

    def note(self, kind: Kind, path: str, state: str) -> None:
        if self.records:
            self._is_torn |= self._now.states.setdefault((kind, path), state) != state

    def note_search(self, search: NameSearch, found: list[str]) -> None:
        if self.records:
            self._now.searches[search] = found

    def during(self, key: Hashable, work: Callable[..., _T], *arguments: object) -> _T:
        """The result of `work`; what it reads is kept under the key."""
        if not self.records:
            return work(*arguments)
        outer, self._now = self._now, ReadSet({}, {})
        try:
            return work(*arguments)
        finally:
            self._known[key], self._now = self._now, outer
            self.repeat(key)

    def repeat(self, key: Hashable) -> None:
        """Count what was read under the key for the current file too."""
        if self.records and key in self._known:
            states, searches = self._known[key]
            for (kind, path), state in states.items():
                self.note(kind, path, state)
            self._now.searches.update(searches)


def kind_of(path: str) -> str:
    return "file" if os.path.isfile(path) else "folder" if os.path.isdir(path) else ABSENT


def blake2b() -> type[_blake2.blake2b]:
    """hashlib's own, without hashlib, which loads OpenSSL: 5 ms; not loaded where nothing is kept."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b


def digest_of(parts: Iterable[bytes]) -> str:
    """One digest for the sequence of the parts: where one ends and the next begins counts."""
    digest = blake2b()(digest_size=16)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()
