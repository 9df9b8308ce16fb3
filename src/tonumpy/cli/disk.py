"""Reads files for the command, writes reports and baselines (repaired sources: writing.py). Errors name the file."""

from collections.abc import Callable

from tonumpy.boundary.output import write_file
from tonumpy.boundary.paths import place_to_write
from tonumpy.config import ConfigError
from tonumpy.findings import SourceError
from tonumpy.text.reading import read_regular


def read(path: str) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise os_error(path, error) from error


def write_text(path: str, text: str, *, kind: str, replaces: Callable[[bytes], bool] | None = None) -> None:
    """Write a text by `write_file`; ConfigError where it refuses."""
    try:
        write_file(path, text.encode("utf-8", "backslashreplace"), kind=kind, replaces=replaces)
    except OSError as error:
        raise ConfigError(f"{path}: the {kind} is not written: {error.strerror or error}") from error


def refuse_place(path: str, kind: str) -> None:
    """ConfigError for a path to which no file is written, before it is read."""
    try:
        place_to_write(path)
    except OSError as error:
        raise ConfigError(f"{path}: the {kind} is not written: {error.strerror or error}") from error


def os_error(path: str, error: OSError) -> SourceError:
    return SourceError(path, error.strerror or str(error))
