"""The read set of a file: the paths that its check read, with the state of each; it is the cache's key.

Equal text, settings and states give equal findings. A state is the digest of a file that was read, the kind of a path
that was only looked for, or the digest of the names of the modules in a folder.
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
    """A search in a repository, given by its top folder, for the files in which a name occurs in a pattern."""

    top: str
    name: str
    pattern: str


class ReadSet(NamedTuple):
    """All inputs of the findings of one file other than its own text."""

    states: States
    searches: dict[NameSearch, list[str]]


class Reads:
    """Records what is read for the current file.

    Work that is shared by several files reads once but counts for each: `during` stores the reads of its work under a
    key, and `repeat` adds them to the current file. Nothing is recorded unless `records`.
    """

    def __init__(self, *, records: bool = False) -> None:
        self.records = records
        self._now = ReadSet({}, {})
        self._known: dict[Hashable, ReadSet] = {}
        self._is_torn = False

    def begin_file(self) -> None:
        """Reset the reads for the next file."""
        self._now, self._is_torn = ReadSet({}, {}), False

    def taken(self) -> ReadSet | None:
        """The reads of the current file; None if a path changed meanwhile, or if a result depends on Python's recursion
        limit, and so on the depth of the stack."""
        return None if self._is_torn or any(is_cut(path) for _, path in self._now.states) else self._now

    def note(self, kind: Kind, path: str, state: str) -> None:
        if self.records:
            self._is_torn |= self._now.states.setdefault((kind, path), state) != state

    def note_search(self, search: NameSearch, found: list[str]) -> None:
        if self.records:
            self._now.searches[search] = found

    def during(self, key: Hashable, work: Callable[..., _T], *arguments: object) -> _T:
        """The result of `work`; its reads are stored under the key."""
        if not self.records:
            return work(*arguments)
        outer, self._now = self._now, ReadSet({}, {})
        try:
            return work(*arguments)
        finally:
            self._known[key], self._now = self._now, outer
            self.repeat(key)

    def repeat(self, key: Hashable) -> None:
        """Add the reads stored under the key to the current file."""
        if self.records and key in self._known:
            states, searches = self._known[key]
            for (kind, path), state in states.items():
                self.note(kind, path, state)
            self._now.searches.update(searches)


def kind_of(path: str) -> str:
    return "file" if os.path.isfile(path) else "folder" if os.path.isdir(path) else ABSENT


def blake2b() -> type[_blake2.blake2b]:
    """hashlib's blake2b without importing hashlib, which loads OpenSSL (5 ms); imported only if the cache is used."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b


def digest_of(parts: Iterable[bytes]) -> str:
    """The digest of a sequence of parts, including their boundaries."""
    digest = blake2b()(digest_size=16)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()
