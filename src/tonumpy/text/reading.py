"""Reads the bytes of a regular file only: a pipe would block, and a device may be endless."""

from __future__ import annotations

import errno
import os
import stat

MAX_BYTES = 1 << 29
_WITHOUT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def read_regular(path: str, most: int = MAX_BYTES) -> bytes:
    """Read a file; OSError if it is no regular file, cannot be read or has more bytes than `most`."""
    if "\0" in path:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    found = os.stat(path)  # opening a device may already do something
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file")
    data = b""
    if found.st_size <= most:
        with open(os.open(path, os.O_RDONLY | _WITHOUT_WAITING), "rb") as stream:
            data = stream.read(found.st_size + 1) or b""
            if len(data) > found.st_size:  # a file in /proc, with size 0 and perhaps endless
                data += stream.read(most - len(data) + 1) or b""
    if max(found.st_size, len(data)) > most:
        raise OSError(errno.EFBIG, f"is larger than {most} bytes")
    return data
