"""A path in, its bytes out. What goes wrong is a SourceError that names the file."""

from __future__ import annotations

from tonumpy.findings import SourceError
from tonumpy.text.reading import read_regular


def read(path: str) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise os_error(path, error) from error


def os_error(path: str, error: OSError) -> SourceError:
    return SourceError(path, error.strerror or str(error))
