"""Reads the bytes of a regular file. A pipe would be waited for, and a device may have no end."""

from __future__ import annotations

import errno
import os
import stat

MAX_BYTES = 1 << 29
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def read_regular(path: str, most: int = MAX_BYTES) -> bytes:
    """OSError where there is no such file, it cannot be read or has more bytes than `most`."""
    return read_looked_at(path, most)[0]


def read_looked_at(path: str, most: int = MAX_BYTES) -> tuple[bytes, os.stat_result]:
    """The bytes, and what the system said of the file just before they were read."""
    if "\0" in path:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    _look_at(os.stat(path), most)  # opening a device may already do something
    with open(os.open(path, os.O_RDONLY | _WITHOUT_WAITING), "rb") as stream:
        found = os.fstat(stream.fileno())
        _look_at(found, most)  # it may be another by now
        data = stream.read(found.st_size + 1) or b""
        if len(data) > found.st_size:  # it grows, or is one of the system's own, which have no size and may have no end
            data += stream.read(most - len(data) + 1) or b""
        if len(data) > most:
            raise _too_large(most)
        return data, found


def _look_at(found: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file")
    if found.st_size > most:
        raise _too_large(most)


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"is larger than {most} bytes")
