"""Looks up what was found in a file before: one entry a file, in an SQLite database in the user's cache folder."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.cache.disk_states import DiskStates, RepositoryFiles
from tonumpy.cache.packing import pack_error, pack_finding, unpack_error, unpack_finding
from tonumpy.engine.names.reads import ABSENT, NameSearch, digest_of
from tonumpy.engine.names.repository import TOO_LARGE, searchable, where_it_stands
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.cache.disk_states import Writes
    from tonumpy.config import Settings
    from tonumpy.engine.names.reads import ReadSet
    from tonumpy.findings import Finding, SourceError

_TABLES = """
CREATE TABLE IF NOT EXISTS owner (token TEXT);
CREATE TABLE IF NOT EXISTS entries (path TEXT, settings TEXT, content TEXT, PRIMARY KEY (path, settings));
CREATE TABLE IF NOT EXISTS stamps (path TEXT PRIMARY KEY, stamp TEXT, digest TEXT);
CREATE TABLE IF NOT EXISTS files (top TEXT, path TEXT, digest TEXT, generation INTEGER, PRIMARY KEY (top, path));
CREATE TABLE IF NOT EXISTS searches (top TEXT, name TEXT, pattern TEXT, generation INTEGER, found TEXT,
    PRIMARY KEY (top, name, pattern));
"""
_PATIENCE = 1.0  # seconds for which another run may hold the database
# Settings that change which files are checked, how many processes check them, or what is made of the findings.
_WITHOUT_EFFECT = frozenset(
    ("exclude", "force_exclude", "jobs", "baseline", "per_file_ignores", "unsafe_fixes", "cache_dir", "output_format")
)


class Kept(NamedTuple):
    """The findings of a file, the errors of those of its cells that were not checked, and how many more possible
    findings there are than were asked for."""

    findings: tuple[Finding, ...]
    skipped: tuple[SourceError, ...]
    hidden: int


class Store:
    """A database; sqlite3.Error where it cannot be used.

    `token` is the user's own: a database that a repository delivers does not have it, and begins empty.
    """

    def __init__(self, path: str, token: str) -> None:
        self._database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level="IMMEDIATE")
        self._writes: Writes = []  # all at the end, so that two runs at once do not wait for each other
        try:
            self._begin(token)
        except sqlite3.Error:
            self.close()
            raise
        self._states = DiskStates(self._database, self._writes)
        self._repositories: dict[str, RepositoryFiles] = {}
        self._searches: dict[NameSearch, list[str] | None] = {}
        self._keys: dict[int, tuple[Settings, str]] = {}

    def _begin(self, token: str) -> None:
        self._database.executescript(_TABLES)
        if self._database.execute("SELECT token FROM owner").fetchall() != [(token,)]:
            for table in ("owner", "entries", "stamps", "files", "searches"):
                self._database.execute(f"DELETE FROM {table}")
            self._database.execute("INSERT INTO owner VALUES (?)", (token,))
            self._database.commit()

    def known(self, path: str, settings: Settings) -> Kept | None:
        """The findings that an earlier run kept, if nothing that they rest on has changed."""
        row = self._database.execute(
            "SELECT content FROM entries WHERE path = ? AND settings = ?", (path, self._key(settings))
        ).fetchone()
        if row is None:
            return None
        digest, states, searches, findings, skipped, hidden = json.loads(row[0])
        if digest != self._states.state("content", os.path.abspath(path)):
            return None
        if any(self._states.state(kind, about) != state for kind, about, state in states):
            return None
        if any(self._digest_of(self.search(NameSearch(*asked))) != state for *asked, state in searches):
            return None
        return Kept(tuple(map(unpack_finding, findings)), tuple(map(unpack_error, skipped)), hidden)

    def keep(self, path: str, settings: Settings, digest: str, read: ReadSet | None, kept: Kept) -> None:
        """Keep the findings of a file with this digest; without a read set, nothing in it is judged."""
        states = [] if read is None else [[*key, state] for key, state in read.states.items()]
        searches = [] if read is None else [[*key, self._digest_of(found)] for key, found in read.searches.items()]
        findings, errors = list(map(pack_finding, kept.findings)), list(map(pack_error, kept.skipped))
        content = json.dumps([digest, states, searches, findings, errors, kept.hidden], separators=(",", ":"))
        row = (path, self._key(settings), content)
        self._writes.append(("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", row))
        for search, found in () if read is None else read.searches.items():
            if self._searches.get(search) is None:
                self._searches[search] = found
                self._write_search(search, found)

    def search(self, search: NameSearch) -> list[str] | None:
        """The result of a search now, by that of an earlier run and by the files that changed since."""
        if search not in self._searches:
            self._searches[search] = self._search(search)
        return self._searches[search]

    def _search(self, search: NameSearch) -> list[str] | None:
        if search.pattern == TOO_LARGE:
            return ["", search.top] if self._files(search.top).is_too_large else [""]
        row = self._database.execute(
            "SELECT generation, found FROM searches WHERE top = ? AND name = ? AND pattern = ?", search
        ).fetchone()
        if row is None:
            return None
        files = self._files(search.top)
        generation, before = row[0], json.loads(row[1])
        changed = {path for path, last in files.changed.items() if last > generation}
        if not changed:
            return list(before)
        found = sorted({*before} - changed | {*where_it_stands(search, _texts(changed & files.paths))})
        self._write_search(search, found)
        return found

    def _write_search(self, search: NameSearch, found: list[str]) -> None:
        row = (*search, self._files(search.top).generation, json.dumps(found))
        self._writes.append(("INSERT OR REPLACE INTO searches VALUES (?, ?, ?, ?, ?)", row))

    def _files(self, top: str) -> RepositoryFiles:
        if top not in self._repositories:
            self._repositories[top] = RepositoryFiles(top, self._database, self._states, self._writes)
        return self._repositories[top]

    def _digest_of(self, found: list[str] | None) -> str:
        return ABSENT if found is None else digest_of(map(os.fsencode, found))

    def _key(self, settings: Settings) -> str:
        known = self._keys.get(id(settings))
        if known is None:
            said = {name: value for name, value in settings._asdict().items() if name not in _WITHOUT_EFFECT}
            # Findings name files as the command line does, which depends on the working folder.
            key = digest_of([repr(said).encode("utf-8", "surrogatepass"), os.fsencode(os.getcwd())])
            known = self._keys[id(settings)] = (settings, key)  # held, so that the id stays its own
        return known[1]

    def save(self) -> None:
        for statement, row in self._writes:
            self._database.execute(statement, row)
        self._database.commit()

    def close(self) -> None:
        """Give up what is not saved."""
        self._database.close()


def _texts(paths: Iterable[str]) -> Iterable[tuple[str, bytes]]:
    for path in paths:
        try:
            yield path, searchable(read_regular(path))
        except OSError:
            continue
