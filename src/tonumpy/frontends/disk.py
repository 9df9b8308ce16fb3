"""Reads files. What goes wrong is a SourceError that names the file."""

from __future__ import annotations

import os

from tonumpy.config import ConfigError
from tonumpy.findings import SourceError
from tonumpy.frontends.git import root_of
from tonumpy.text.reading import read_regular


def read(path: str) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise os_error(path, error) from error


def write_report(path: str, text: str) -> None:
    """A report into a file of its own, whose folder is made where it is missing; ConfigError where it cannot be."""
    refuse_outside(path)
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)
    except OSError as error:
        raise ConfigError(f"{path}: the report cannot be written: {error.strerror}") from error


def refuse_outside(path: str) -> None:
    """A link in the folder at hand, or its repository, may be a stranger's: none is followed to a place outside."""
    target = os.path.realpath(path)
    here = os.path.realpath(os.curdir)
    top = os.path.join(root_of(here) or here, "")
    if os.path.abspath(os.path.join(here, path)).startswith(top) and not target.startswith(top):
        raise ConfigError(f"{path}: leads out of the folder, to {target}, so the report is not written")


def os_error(path: str, error: OSError) -> SourceError:
    return SourceError(path, error.strerror or str(error))
