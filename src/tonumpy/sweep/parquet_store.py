"""Stores the results for repositories as a data set of Parquet files, and reads those of an earlier run.
ConfigError if a file of it cannot be read or written.

    OUT/findings/run=RUN/KEY.parquet      a row a finding
    OUT/repositories/run=RUN/KEY.parquet  one row: the repository at a commit is done; written last
    OUT/failures/run=RUN/KEY.parquet      a row a file that could not be read or parsed, or a repository

A run is one version of this program with one set of settings. The key stands for a repository, a commit and a folder:
a process that repeats the work, even at the same time, writes the same file, and each file is replaced atomically.
"""

import contextlib
import datetime
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tonumpy.boundary.output import replace_file
from tonumpy.config import ConfigError
from tonumpy.sweep.messages import Entry, Failure, Reply, Target

_TEXT, _NUMBER = pa.string(), pa.int32()
FINDINGS = pa.schema(
    [
        *((name, _TEXT) for name in ("repository", "commit", "folder", "path")),
        *((name, _NUMBER) for name in ("cell", "row", "column", "end_row", "end_column")),
        *((name, _TEXT) for name in ("code", "name", "confidence", "applicability", "message", "fix")),
        *((name, _TEXT) for name in ("evidence", "line", "context")),
        ("context_row", _NUMBER),
        ("report", _TEXT),
    ]
)
REPOSITORIES = pa.schema(
    [
        *((name, _TEXT) for name in ("repository", "revision", "commit", "folder")),
        *((name, _NUMBER) for name in ("files", "candidates", "findings", "errors")),
        *((name, pa.float64()) for name in ("seconds", "cpu_seconds")),
        ("memory", pa.int64()),
        ("patch", _TEXT),
        ("finished", pa.timestamp("us", tz="UTC")),
    ]
)
FAILURES = pa.schema(
    [
        *((name, _TEXT) for name in ("repository", "revision", "commit", "folder", "kind", "reason", "path")),
        *((name, _NUMBER) for name in ("row", "column")),
        ("report", _TEXT),
    ]
)
_TABLES = {"findings": FINDINGS, "repositories": REPOSITORIES, "failures": FAILURES}


class Done(NamedTuple):
    """A repository at a commit whose results are all in the data set. `patch` is None if none was wanted."""

    commit: str
    findings: int
    errors: int
    patch: str | None


class Store:
    """The part of a data set that belongs to one run."""

    def __init__(self, folder: str, run: str) -> None:
        self._folder = folder
        self._run = run
        self._done: dict[tuple[str, str | None], dict[str, Done]] = {}
        for table in _TABLES:
            try:
                os.makedirs(self._path(table, ""), exist_ok=True)
            except OSError as error:
                raise ConfigError(f"{self._path(table, '')}: {error.strerror}") from error
            self._write(table, "none", [])  # so that an empty table can be queried
        for name in sorted(os.listdir(self._path("repositories", ""))):
            for row in self._read("repositories", name.removesuffix(".parquet")):
                done = Done(row["commit"], row["findings"], row["errors"], row["patch"])
                self._done.setdefault((row["repository"], row["folder"]), {})[row["commit"]] = done

    def done(self, target: Target) -> Mapping[str, Done]:
        """The results for a target, by commit."""
        return self._done.get((target.repository, target.folder), {})

    def save(self, target: Target, reply: Reply, patch: str | None) -> Done:
        assert reply.commit is not None
        key = _key(target.repository, reply.commit, target.folder)
        place = {"repository": target.repository, "commit": reply.commit, "folder": target.folder}
        self._write("findings", key, [place | _finding(entry) for entry in reply.findings])
        if reply.errors:
            revision = {"revision": target.revision}
            self._write("failures", key, [place | revision | _error(entry) for entry in reply.errors])
        done = Done(reply.commit, len(reply.findings), len(reply.errors), patch)
        more = {"revision": target.revision, "finished": datetime.datetime.now(datetime.timezone.utc)}
        self._write("repositories", key, [reply._asdict() | place | done._asdict() | more])
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path("failures", _failure_key(target)))
        self._done.setdefault((target.repository, target.folder), {})[reply.commit] = done
        return done

    def fail(self, target: Target, failure: Failure) -> None:
        row = {"repository": target.repository, "revision": target.revision, "folder": target.folder}
        self._write("failures", _failure_key(target), [row | failure._asdict()])

    def kept(self, places: Iterable[tuple[Target, str]]) -> Iterator[tuple[Target, str, Entry]]:
        """Yield the findings and errors of repositories at commits, in the order in which `check` reports them."""
        for target, commit in places:
            key = _key(target.repository, commit, target.folder)
            rows = [row for table in ("findings", "failures") for row in self._read(table, key)]
            kept = [Entry(json.loads(row["report"]), None, row.get("context"), row.get("context_row")) for row in rows]
            yield from ((target, commit, each) for each in sorted(kept, key=lambda each: str(each.said["filename"])))

    def _read(self, table: str, key: str) -> list[dict[str, Any]]:
        path = self._path(table, key)
        if not os.path.exists(path):
            return []
        try:
            rows: list[dict[str, Any]] = pq.ParquetFile(path).read().to_pylist()
        except (OSError, pa.ArrowException) as error:
            raise ConfigError(f"{path}: {error}") from error
        return rows

    def _path(self, table: str, key: str) -> str:
        return os.path.join(self._folder, table, f"run={self._run}", key and f"{key}.parquet")

    def _write(self, table: str, key: str, rows: list[dict[str, Any]]) -> None:
        """Write rows to a table; their keys that are not columns are dropped."""
        clean = [{name: _storable(value) for name, value in row.items()} for row in rows]
        path = self._path(table, key)
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(clean, schema=_TABLES[table]), sink, compression="zstd")
        try:
            replace_file(path, sink.getvalue().to_pybytes())
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror or error}") from error


def _key(*parts: str | None) -> str:
    return hashlib.sha256("\0".join(part or "" for part in parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _failure_key(target: Target) -> str:
    return f"repository-{_key(target.repository, target.revision, target.folder)}"


def _storable(value: object) -> object:
    """The value with escapes for undecodable bytes, as in file names: Parquet's strings are valid Unicode."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _finding(entry: Entry) -> dict[str, Any]:
    """The columns of a finding: the fields of its entry, and those nested in it."""
    said, fix, end = entry.said, entry.said["fix"] or {}, entry.said["end_location"]
    row = said | _place(said) | {"end_row": end["row"], "end_column": end["column"]}
    row |= {"applicability": fix.get("applicability"), "fix": fix.get("message")}
    row |= {"evidence": json.dumps(said["evidence"]), "line": entry.line}
    return row | {"context": entry.context, "context_row": entry.context_row}


def _error(entry: Entry) -> dict[str, Any]:
    return _place(entry.said) | {"kind": entry.said["name"], "reason": entry.said["message"]}


def _place(said: dict[str, Any]) -> dict[str, Any]:
    place = said["location"]
    return {"path": said["filename"], "row": place["row"], "column": place["column"], "report": json.dumps(said)}
