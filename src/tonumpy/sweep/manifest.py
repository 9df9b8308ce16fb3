"""Reads the repositories to check from a manifest, or from a folder that contains them."""

import csv
import os
import shlex
from collections.abc import Iterable, Iterator

from tonumpy.boundary.git_objects import is_repository, is_url
from tonumpy.config import ConfigError
from tonumpy.sweep.messages import Target

_COLUMNS = ("repository", "revision", "folder")
_DEPTH = 4  # of nested folders in which repositories are searched


def read_targets(path: str) -> list[Target]:
    """The unique targets, in the order of the manifest or of their names. ConfigError says what is wrong, and where."""
    if os.path.isdir(path):
        targets = [Target(os.path.relpath(each, path), os.path.abspath(each)) for each in _repositories(path, _DEPTH)]
        if not targets:
            raise ConfigError(f"{path}: there is no git repository in this folder")
        return targets
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            rows = _csv_rows(stream, path) if path.endswith(".csv") else _text_rows(stream, path)
            named = (_target(fields, f"{path}:{row}", os.path.dirname(path)) for row, fields in rows)
            targets = list(dict.fromkeys(named))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{path}: {reason}") from error
    if not targets:
        raise ConfigError(f"{path}: names no repository")
    return targets


def _repositories(folder: str, depth: int) -> Iterator[str]:
    if is_repository(folder):
        yield folder
    elif depth:
        try:
            inner = sorted(entry.path for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
        except OSError as error:
            raise ConfigError(f"{folder}: {error.strerror}") from error
        for each in inner:
            yield from _repositories(each, depth - 1)


def _text_rows(lines: Iterable[str], path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the row and the fields of each line: a repository, and optionally a revision and a folder; fields with
    spaces are quoted, and `#` begins a comment."""
    for row, line in enumerate(lines, 1):
        try:
            fields = shlex.split(line, comments=True)
        except ValueError as error:
            raise ConfigError(f"{path}:{row}: {error}") from error
        if fields:
            yield row, fields


def _csv_rows(lines: Iterable[str], path: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.DictReader(lines, skipinitialspace=True)
    columns = [name.strip().lower() for name in reader.fieldnames or ()]
    if "repository" not in columns or not set(columns) <= set(_COLUMNS):
        raise ConfigError(f"{path}:1: expected the columns {', '.join(_COLUMNS)}; the last two may be missing")
    reader.fieldnames = columns
    for row in reader:
        if None in row:
            raise ConfigError(f"{path}:{reader.line_num}: more fields than columns")
        yield reader.line_num, [(row.get(name) or "").strip() for name in _COLUMNS]


def _target(fields: list[str], place: str, base: str) -> Target:
    if len(fields) > len(_COLUMNS):
        raise ConfigError(f"{place}: expected a repository, a revision and a folder, found {len(fields)} fields")
    name, revision, folder = [*fields, "", ""][: len(_COLUMNS)]
    if not name or name.startswith("-"):
        raise ConfigError(f"{place}: `{name}` is not a repository")
    folder = folder.strip("/")
    if ".." in folder.split("/"):
        raise ConfigError(f"{place}: `{folder}` leads out of the repository")
    source = name if is_url(name) else os.path.abspath(os.path.join(base, name))
    return Target(name, source, revision or None, folder if folder not in ("", ".") else None)
