"""A path in, its bytes out; new bytes in, written in one step. What goes wrong is a SourceError that names the file."""

from __future__ import annotations

import contextlib
import os
import stat

from tonumpy.findings import SourceError


def read(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise os_error(path, error) from error


def write(path: str, old: bytes, new: bytes) -> None:
    """Replace the content `old` of a file by `new`; whoever reads meanwhile sees the one or the other, never a part.

    A link is written through to its target, and the target keeps its mode. A file that is not `old` any more, or that
    its owner has made read-only, is left alone.
    """
    target = os.path.realpath(path)
    if read(target) != old:
        raise SourceError(path, "was changed by somebody else meanwhile, so it is not written")
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)[:200]}.{os.getpid()}.tonumpy")
    try:
        if not os.access(target, os.W_OK):
            raise PermissionError(13, "is read-only, so it is not written")
        before = os.stat(target)
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            with open(descriptor, "wb") as stream:
                stream.write(new)
            if hasattr(os, "chown"):
                with contextlib.suppress(OSError):  # giving a file away is root's right
                    os.chown(temporary, before.st_uid, before.st_gid)
            os.chmod(temporary, stat.S_IMODE(before.st_mode))
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise os_error(path, error) from error


def os_error(path: str, error: OSError) -> SourceError:
    return SourceError(path, error.strerror or str(error))
