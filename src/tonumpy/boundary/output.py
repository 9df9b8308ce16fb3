"""The one door through which files are written: each is put in its place whole, in one step.

    write_file(path, data, kind="baseline", replaces=is_baseline)   where a user or a configuration says
    replace_file(path, data)                                        in a folder that this program has made for itself
    replace_file(path, data, before=os.lstat(path))                 a source that was repaired (cli/disk.py)

All else opens nothing to write; `tests/test_doors.py` sees to it. What must not or cannot be written is an OSError,
whose `strerror` says why; what was there before is there still.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable

from tonumpy.boundary.paths import place_to_write
from tonumpy.text.reading import read_regular

_CODE = (".py", ".pyi", ".pyw", ".ipynb", ".toml", ".cfg", ".ini", ".sh", ".yaml", ".yml")


def write_file(path: str, data: bytes, *, kind: str, replaces: Callable[[bytes], bool] | None = None) -> None:
    """Write a file of a kind where a user or a configuration says; missing folders are made.

    `replaces` gets the bytes of what stands there and returns True if it may go; an empty file may, and without
    `replaces` any other. Code, settings, programs, read-only files, links of the repository's and folders of version
    control are refused. A pipe or a device (`/dev/stdout`) is written to as it is.
    """
    target = place_to_write(path)
    if _is_stream(path, target):
        _write_to_stream(path, data)
        return
    before = None
    if os.path.lexists(target):
        before = _refuse_foreign(target, kind, replaces)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    replace_file(target, data, before=before)


def replace_file(path: str, data: bytes, *, mode: int = 0o666, before: os.stat_result | None = None) -> None:
    """Write a temporary file beside `path`, then put it in its place: a reader sees the old file or the new one.

    With `before`, the state of the old file, the new one gets its mode and, where the system permits, its owner.
    """
    temporary = os.path.join(os.path.dirname(path), f".tonumpy-{os.urandom(8).hex()}.part")
    try:
        with open(open_new(temporary, mode), "wb") as stream:
            stream.write(data)
            if before is not None:
                _make_like(temporary, before)
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _make_like(path: str, before: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):
            os.chown(path, before.st_uid, before.st_gid)
    os.chmod(path, stat.S_IMODE(before.st_mode) & 0o777)


def open_new(path: str | bytes, mode: int = 0o666) -> int:
    """The descriptor of a file that is not there yet, in a folder that was looked at before."""
    return os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0), mode
    )


def open_to_append(path: str) -> int:
    """The descriptor of a log in a folder of our own."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _refuse_foreign(path: str, kind: str, replaces: Callable[[bytes], bool] | None) -> os.stat_result:
    found = os.lstat(path)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(path, os.W_OK) or not found.st_mode & 0o222:
        raise PermissionError(errno.EACCES, "is read-only")
    is_program = os.name != "nt" and found.st_mode & 0o111
    if found.st_size and (is_program or path.lower().endswith(_CODE)):
        raise PermissionError(errno.EPERM, f"holds code or settings, which no {kind} replaces")
    if replaces is not None and found.st_size and not replaces(read_regular(path)):
        raise PermissionError(errno.EPERM, f"is no {kind} of tonumpy's, so it is not replaced")
    return found


def _is_stream(path: str, target: str) -> bool:
    if path.startswith(("/dev/", "/proc/")):  # a standard stream, though it may have been sent to a file
        return os.path.exists(path)
    try:
        mode = os.stat(target).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write_to_stream(path: str, data: bytes) -> None:
    # without O_NONBLOCK a pipe that nobody reads would be waited for without end
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    with open(descriptor, "wb") as stream:
        if hasattr(os, "set_blocking"):
            os.set_blocking(descriptor, True)
        stream.write(data)
