"""Reads files. What goes wrong is a SourceError that names the file."""

from __future__ import annotations

import os

from tonumpy.config import ConfigError
from tonumpy.findings import SourceError
from tonumpy.text.reading import read_regular


def read(path: str) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise os_error(path, error) from error


def write_report(path: str, text: str) -> None:
    """A report into a file of its own, whose folder is made where it is missing; ConfigError where it cannot be."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)
    except OSError as error:
        raise ConfigError(f"{path}: the report cannot be written: {error.strerror}") from error


def os_error(path: str, error: OSError) -> SourceError:
    return SourceError(path, error.strerror or str(error))
