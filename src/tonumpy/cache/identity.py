"""Cache key: tool and Python version, by the bytes of the tool's own files; another version may find otherwise."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tonumpy.engine.names.lookups import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.config import Settings

FORMAT = b"2"  # of the entries
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PARTS = (".py", ".json", ".toml")  # of which the tool is made
# What changes which files are looked at, how many processes look, or what is made of the findings.
_OF_NO_CONCERN = frozenset(
    ("exclude", "force_exclude", "jobs", "baseline", "per_file_ignores", "unsafe_fixes", "cache_dir", "output_format")
)


def identity(*, by_content: bool) -> str:
    """By the content of the tool's own files where time stamps mean nothing, as they are new in each run of CI."""
    python = f"{sys.version} {sys.implementation.cache_tag} {sys.getrecursionlimit()}"
    parts = [FORMAT, python.encode(), *(_contents() if by_content else _stamps())]
    return digest_of(parts)[:16]


def settings_key(settings: Settings) -> bytes:
    said = {name: value for name, value in settings._asdict().items() if name not in _OF_NO_CONCERN}
    return repr(said).encode("utf-8", "surrogatepass")


def _files(folder: str = _HOME) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(_PARTS):
            yield entry
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry.path)


def _stamps() -> Iterator[bytes]:
    for entry in _files():
        found = entry.stat()
        yield f"{entry.path} {found.st_mtime_ns} {found.st_size}".encode("utf-8", "surrogatepass")


def _contents() -> Iterator[bytes]:
    for entry in _files():
        yield os.path.relpath(entry.path, _HOME).encode()
        with open(entry.path, "rb") as stream:
            yield stream.read()
