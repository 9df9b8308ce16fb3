"""Reads files for the command, writes reports, baselines and repaired sources. Errors name the file.

A failure to write one repaired file is a SourceError; the others are still written.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from typing import NamedTuple

from tonumpy.boundary.output import is_read_only, replace_file, write_file
from tonumpy.boundary.paths import real_path, refuse_private
from tonumpy.config import ConfigError
from tonumpy.findings import SourceError
from tonumpy.text.reading import read_regular


class Change(NamedTuple):
    """The old and the new bytes of a file."""

    old: bytes
    new: bytes


def read(path: str) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise os_error(path, error) from error


def write_text(path: str, text: str, *, kind: str) -> None:
    """Write a text by `write_file`; ConfigError if that refuses."""
    try:
        write_file(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise ConfigError(f"{path}: the {kind} is not written: {error.strerror or error}") from error


def os_error(path: str, error: OSError) -> SourceError:
    return SourceError(path, error.strerror or str(error))


def write_all(changes: Sequence[tuple[str, Change]]) -> list[SourceError]:
    """Write each change, whole or not at all, and return the errors."""
    errors: list[SourceError] = []
    for path, change in changes:
        try:
            write(path, change.old, change.new)
        except SourceError as error:
            errors.append(error)
    return errors


def write(path: str, old: bytes, new: bytes) -> None:
    """Replace the content `old` of a file by `new` atomically.

    The file keeps its mode and owner. SourceError for a link, and for a file that is no longer `old`, is read-only,
    or has several names (hard links), of which only one would get the new content.
    """
    target = real_path(path)
    if os.path.islink(path):
        raise SourceError(path, f"not written: it is a link, name {target} itself")
    try:
        refuse_private(path)
        before = os.lstat(target)
        if not stat.S_ISREG(before.st_mode) or read_regular(target) != old:
            raise SourceError(path, "not written: the file changed during the run")
        if is_read_only(target, before):
            raise PermissionError(errno.EACCES, "not written: the file is read-only")
        if before.st_nlink > 1:
            raise OSError(errno.EMLINK, f"not written: the file has {before.st_nlink} names (hard links)")
        replace_file(target, new, before=before)
    except OSError as error:
        raise os_error(path, error) from error
