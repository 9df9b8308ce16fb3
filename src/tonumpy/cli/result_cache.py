"""Keeps the findings of earlier runs: one entry per file and settings, in an SQLite database in the cache folder."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable
from typing import Any

from tonumpy.cli.outcomes import Outcome, Task
from tonumpy.config import Settings
from tonumpy.engine.names.folders import digest_of_names, most_bytes
from tonumpy.engine.names.reads import ABSENT, Kind, NameSearch, Reads, digest_of, kind_of
from tonumpy.engine.names.repository import Searched
from tonumpy.findings import Cell, Edit, Finding, Fix, Ground, Position, SourceError
from tonumpy.text.reading import read_regular

_TABLE = "CREATE TABLE IF NOT EXISTS entries (path TEXT, settings TEXT, content TEXT, PRIMARY KEY (path, settings))"
_PATIENCE = 1.0  # seconds to wait for another run's lock on the database
# Settings that only change which files are checked, by how many processes, or how findings are used.
_WITHOUT_EFFECT = frozenset(
    ("exclude", "force_exclude", "jobs", "baseline", "per_file_ignores", "unsafe_fixes", "cache_dir", "output_format")
)


class ResultCache:
    """The outcomes of earlier runs, by file and settings, in a database; sqlite3.Error if it cannot be opened. If it
    fails later, it acts as empty.

    `repairs`: skip outcomes that have a repair, which the run is to make.
    """

    def __init__(self, path: str, *, repairs: bool) -> None:
        self._database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level="IMMEDIATE")
        self._repairs = repairs
        self.taken = 0
        self._rows: list[tuple[str, str, str]] = []  # written at the end, so that two runs do not wait for each other
        try:
            self._database.execute(_TABLE)
        except sqlite3.Error:
            self.close()
            raise
        self._states: dict[tuple[Kind, str], str] = {}
        self._repositories: dict[str, Searched] = {}
        self._keys: dict[int, tuple[Settings, str]] = {}

    def known(self, path: str, settings: Settings) -> Outcome | None:
        """The outcome of an earlier run for a file, if nothing that it depends on has changed."""
        try:
            outcome = self._kept(path, settings)
        except (sqlite3.Error, ValueError, TypeError, LookupError):
            return None
        if outcome is None or (self._repairs and _has_repairs(outcome)):
            return None
        self.taken += 1
        return outcome

    def _kept(self, path: str, settings: Settings) -> Outcome | None:
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
        errors = tuple(SourceError(*each) for each in _unpacked(skipped))
        return Outcome(Task(path, None, settings), None, list(_unpacked(findings)), [], None, errors)

    def keep(self, outcome: Outcome) -> None:
        """Keep an outcome if it has a basis and no error."""
        basis, task = outcome.basis, outcome.task
        if basis is None or outcome.error is not None:
            return
        states = [[*key, state] for key, state in basis.read_set.states.items()]
        with contextlib.suppress(ValueError):  # a file name that is not valid text
            searches = [[*key, _digest_of_paths(found)] for key, found in basis.read_set.searches.items()]
            findings, errors = _packed(tuple(outcome.findings)), _packed(tuple(each.args for each in outcome.skipped))
            content = json.dumps([basis.digest, states, searches, findings, errors], separators=(",", ":"))
            self._rows.append((task.filename, self._key(task.settings), content))

    def _state(self, kind: Kind, path: str) -> str:
        """The current state of a path, as a project notes it; computed once a run."""
        if (kind, path) not in self._states:
            find = {"content": _digest_of_file, "kind": kind_of, "names": digest_of_names}[kind]
            self._states[kind, path] = find(path)
        return self._states[kind, path]

    def _found(self, search: NameSearch) -> str:
        """The digest of the files that a search in a repository finds now."""
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
        with contextlib.suppress(sqlite3.Error, ValueError):  # ValueError: the same
            self._database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", self._rows)
            self._database.commit()

    def close(self) -> None:
        """Close the database; drop what is not saved."""
        self._database.close()


def _has_repairs(outcome: Outcome) -> bool:
    allowed = ("safe", "unsafe") if outcome.task.settings.unsafe_fixes else ("safe",)
    return any(finding.fix is not None and finding.fix.applicability in allowed for finding in outcome.findings)


def _digest_of_file(path: str) -> str:
    try:
        return digest_of([read_regular(path, most_bytes(path))])
    except OSError:
        return ABSENT


def _digest_of_paths(paths: list[str]) -> str:
    return digest_of(map(os.fsencode, paths))


_CLASSES: dict[str, Callable[..., tuple[Any, ...]]] = {
    each.__name__: each for each in (Cell, Edit, Finding, Fix, Ground, Position)
}


def _packed(value: object) -> object:
    """The value for JSON: each tuple in it as a list that begins with the name of its class."""
    return [type(value).__name__, *map(_packed, value)] if isinstance(value, tuple) else value


def _unpacked(packed: list[Any]) -> tuple[Any, ...]:
    """The tuple that `_packed` was given."""
    name, *items = packed
    made = (_unpacked(each) if isinstance(each, list) else each for each in items)
    return tuple(made) if name == "tuple" else _CLASSES[name](*made)
