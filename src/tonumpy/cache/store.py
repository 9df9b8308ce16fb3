"""Looks up what was found in a file before: one entry a file, in an SQLite database in the user's cache folder."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from typing import Any, NamedTuple

from tonumpy.config import Settings
from tonumpy.engine.names.folders import digest_of_names, most_bytes
from tonumpy.engine.names.reads import ABSENT, Kind, NameSearch, Reads, ReadSet, digest_of, kind_of
from tonumpy.engine.names.repository import Searched
from tonumpy.findings import Cell, Edit, Finding, Fix, Ground, Position, SourceError
from tonumpy.text.reading import read_regular

_TABLE = "CREATE TABLE IF NOT EXISTS entries (path TEXT, settings TEXT, content TEXT, PRIMARY KEY (path, settings))"
_PATIENCE = 1.0  # seconds for which another run may hold the database
# Settings that change which files are checked, how many processes check them, or what is made of the findings.
_WITHOUT_EFFECT = frozenset(
    ("exclude", "force_exclude", "jobs", "baseline", "per_file_ignores", "unsafe_fixes", "cache_dir", "output_format")
)


class Kept(NamedTuple):
    """The findings of a file, and the errors of those of its cells that were not checked."""

    findings: tuple[Finding, ...]
    skipped: tuple[SourceError, ...]


class Store:
    """A database; sqlite3.Error where it cannot be used."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level="IMMEDIATE")
        self._rows: list[tuple[str, str, str]] = []  # written at the end, so that two runs do not wait for each other
        try:
            self._database.execute(_TABLE)
        except sqlite3.Error:
            self.close()
            raise
        self._states: dict[tuple[Kind, str], str] = {}
        self._repositories: dict[str, Searched] = {}
        self._keys: dict[int, tuple[Settings, str]] = {}

    def known(self, path: str, settings: Settings) -> Kept | None:
        """The findings that an earlier run kept, if nothing that they rest on has changed."""
        row = self._database.execute(
            "SELECT content FROM entries WHERE path = ? AND settings = ?", (path, self._key(settings))
        ).fetchone()
        if row is None:
            return None
        digest, states, searches, findings, skipped = json.loads(row[0])
        if digest != self._state("content", os.path.abspath(path)):
            return None
        if any(self._state(kind, about) != state for kind, about, state in states):
            return None
        if any(self._found(NameSearch(*asked)) != state for *asked, state in searches):
            return None
        return Kept(tuple(map(_unpack_finding, findings)), tuple(map(_unpack_error, skipped)))

    def keep(self, path: str, settings: Settings, digest: str, read: ReadSet, kept: Kept) -> None:
        """Keep the findings of a file with this digest."""
        states = [[*key, state] for key, state in read.states.items()]
        searches = [[*key, _digest_of_paths(found)] for key, found in read.searches.items()]
        findings, errors = list(map(_pack_finding, kept.findings)), list(map(_pack_error, kept.skipped))
        content = json.dumps([digest, states, searches, findings, errors], separators=(",", ":"))
        self._rows.append((path, self._key(settings), content))

    def _state(self, kind: Kind, path: str) -> str:
        """The state of a path now, as a project notes it; found out once a run."""
        if (kind, path) not in self._states:
            find = {"content": _digest_of_file, "kind": kind_of, "names": digest_of_names}[kind]
            self._states[kind, path] = find(path)
        return self._states[kind, path]

    def _found(self, search: NameSearch) -> str:
        """The digest of what a search in a repository finds now."""
        if search.top not in self._repositories:
            self._repositories[search.top] = Searched(search.top, Reads())
        return _digest_of_paths(self._repositories[search.top].found(search))

    def _key(self, settings: Settings) -> str:
        known = self._keys.get(id(settings))
        if known is None:
            said = {name: value for name, value in settings._asdict().items() if name not in _WITHOUT_EFFECT}
            # Findings name files as the command line does, which depends on the working folder.
            key = digest_of([repr(said).encode("utf-8", "surrogatepass"), os.fsencode(os.getcwd())])
            known = self._keys[id(settings)] = (settings, key)  # held, so that the id stays its own
        return known[1]

    def save(self) -> None:
        self._database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", self._rows)
        self._database.commit()

    def close(self) -> None:
        """Give up what is not saved."""
        self._database.close()


def _digest_of_file(path: str) -> str:
    try:
        return digest_of([read_regular(path, most_bytes(path))])
    except OSError:
        return ABSENT


def _digest_of_paths(paths: list[str]) -> str:
    return digest_of(map(os.fsencode, paths))


def _pack_finding(finding: Finding) -> list[Any]:
    """The fields of a finding but the last, a run's observations, which no check has."""
    return list(finding[:-1])


def _unpack_finding(packed: Sequence[Any]) -> Finding:
    filename, code, message, start, end, fix, confidence, evidence, cell, brief = packed
    return Finding(
        filename,
        code,
        message,
        Position(*start),
        Position(*end),
        None if fix is None else Fix(fix[0], fix[1], tuple(map(_edit, fix[2]))),
        confidence,
        tuple(Ground(*each) for each in evidence),
        None if cell is None else Cell(cell[0], Position(*cell[1]), Position(*cell[2])),
        brief,
    )


def _pack_error(error: SourceError) -> list[Any]:
    return [error.filename, error.reason, error.position, error.cell]


def _unpack_error(packed: Sequence[Any]) -> SourceError:
    filename, reason, position, cell = packed
    return SourceError(filename, reason, None if position is None else Position(*position), cell)


def _edit(packed: Sequence[Any]) -> Edit:
    start, end, content = packed
    return Edit(Position(*start), Position(*end), content)
