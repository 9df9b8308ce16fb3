"""The states of paths and repositories now, each found out once a run; see engine/names/reads.py."""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.engine.names.folders import digest_of_names, most_bytes
from tonumpy.engine.names.reads import ABSENT, digest_of, kind_of
from tonumpy.engine.names.repository import MAX_FILES, MAX_SIZE, python_files
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from sqlite3 import Connection

    from tonumpy.engine.names.reads import Kind

    Writes = list[tuple[str, tuple[object, ...]]]  # statements to be run when the run is over, and their values

_SETTLED = 2_000_000_000  # nanoseconds: the coarsest time stamps of a file system that is in use


class DiskStates:
    """Answers by time stamps where an earlier run has read the same file; else by reading it."""

    def __init__(self, database: Connection, writes: Writes) -> None:
        self._database = database
        self._writes = writes
        self._states: dict[tuple[Kind, str], str] = {}

    @cached_property
    def _stamps(self) -> dict[str, tuple[str, str]]:
        """The time stamp and the digest of each file that was read before."""
        return {path: (stamp, digest) for path, stamp, digest in self._database.execute("SELECT * FROM stamps")}

    def state(self, kind: Kind, path: str) -> str:
        found = self._states.get((kind, path))
        if found is None:
            find = {"content": self._content, "kind": kind_of, "names": digest_of_names}[kind]
            found = self._states[kind, path] = find(path)
        return found

    def _content(self, path: str) -> str:
        """The digest of a file, or that it is absent; as the project notes it."""
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return ABSENT
        stamp = f"{found.st_mtime_ns} {found.st_ctime_ns} {found.st_size} {found.st_ino}"
        before = self._stamps.get(path)
        if before is not None and before[0] == stamp:
            return before[1]
        try:
            digest = digest_of([read_regular(path, most_bytes(path))])
        except OSError:
            return ABSENT
        if max(found.st_mtime_ns, found.st_ctime_ns) < time.time_ns() - _SETTLED:  # the next change is sure to show
            self._writes.append(("INSERT OR REPLACE INTO stamps VALUES (?, ?, ?)", (path, stamp, digest)))
        return digest


class RepositoryFiles:
    """The Python files of one repository, and which of them have changed since an earlier run.

    `generation` counts the runs that met a change; `changed` has the generation of the last change of each file.
    """

    def __init__(self, top: str, database: Connection, states: DiskStates, writes: Writes) -> None:
        rows = database.execute("SELECT path, digest, generation FROM files WHERE top = ?", (top,))
        before = {path: (digest, generation) for path, digest, generation in rows}
        now = {path: states.state("content", path) for path in python_files(top)}
        latest = max((generation for _, generation in before.values()), default=0)
        gone = dict.fromkeys(before.keys() - now.keys(), ABSENT)
        changed = {path for path, digest in (now | gone).items() if before.get(path, (None,))[0] != digest}
        self.paths = frozenset(now)
        self.generation = latest + bool(changed)
        self.changed = {path: generation for path, (_, generation) in before.items()} | dict.fromkeys(
            changed, self.generation
        )
        self.is_too_large = len(now) > MAX_FILES or sum(map(_size, now)) > MAX_SIZE
        insert = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)"
        writes += [(insert, (top, path, now.get(path, ABSENT), self.generation)) for path in changed]


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
