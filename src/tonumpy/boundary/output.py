"""The one door through which files are written: takes a path and bytes, and puts a whole file there in one step.

    write_file(path, data, kind="baseline", replaces=is_baseline)   where a user or a configuration says
    write_own(path, data)                                           in a folder that this program has made for itself

All else opens nothing to write; `tests/test_doors.py` sees to it. What must not or cannot be written is an OSError,
whose `strerror` says why; what was there before is there still.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING

from tonumpy.boundary.paths import followed, private_folder
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.boundary.paths import Place

_CODE = (".py", ".pyi", ".pyw", ".ipynb", ".toml", ".cfg", ".ini", ".sh", ".yaml", ".yml")


def write_file(path: str, data: bytes, *, kind: str, replaces: Callable[[bytes], bool] | None = None) -> None:
    """Write a file of a kind where somebody says; missing folders are made.

    `replaces` gets the bytes of what stands there and says whether it may go; an empty file may, and without `replaces`
    any other. But never code or settings, a program, a file that is read-only, or a link of the repository's; and
    nothing is written into a folder of version control. A pipe or a device (`/dev/stdout`) is written to as it is.
    """
    place = place_to_write(path)
    if place.is_stream or _is_special(place.path):
        _write_to_stream(place.path, data)
        return
    before = None
    if os.path.lexists(place.path):
        before = _refuse_foreign(place.path, kind, replaces)
    else:
        os.makedirs(os.path.dirname(place.path), exist_ok=True)
    _put(place.path, data, 0o666, before)


def place_to_write(path: str) -> Place:
    """Where a path leads; PermissionError for a folder of version control, or a link of a repository's."""
    if "\0" in path or path.endswith(os.sep):
        code = errno.EINVAL if "\0" in path else errno.EISDIR
        raise OSError(code, os.strerror(code))
    place = followed(path)
    refuse_private(os.path.abspath(path), place.path)
    if place.is_link:  # what it leads to is not what the user has in mind
        raise PermissionError(errno.EPERM, "is a link, and links are not written through")
    return place


def write_own(path: str, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file in a folder of our own. A reader meanwhile sees the old file or the new one, never a part."""
    _put(path, data, mode)


def _put(path: str, data: bytes, mode: int, before: os.stat_result | None = None) -> None:
    """What stood there `before` hands on its mode and, where that can be, its owner."""
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


def remove_own(folder: str) -> None:
    """Remove a folder of our own with all that is in it, as far as that can be done.

    Whoever filled it may have put so many folders in one another that no call reaches the last of them, be it by one
    function calling itself or by its path. So each is moved up next to the first one, and emptied there.
    """
    queue, count = ([] if os.path.islink(folder) else [folder]), 0
    while queue:
        here = queue.pop()
        for entry in _entries(here):
            with contextlib.suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                elif here == folder:
                    queue.append(entry.path)
                else:
                    count += 1
                    moved = os.path.join(folder, f".moved-{count}")
                    os.rename(entry.path, moved)
                    queue.append(moved)
        if here != folder:
            with contextlib.suppress(OSError):
                os.rmdir(here)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scan:
            return list(scan)
    except OSError:
        return []


def open_to_append(path: str) -> int:
    """The descriptor of a log in a folder of our own."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)


def refuse_private(*paths: str) -> None:
    """PermissionError for an absolute path into a folder of version control, where programs are named."""
    for path in paths:
        private = private_folder(path)
        if private is not None:
            raise PermissionError(errno.EPERM, f"is in {private}, which belongs to version control")


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


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write_to_stream(path: str, data: bytes) -> None:
    """A pipe that nobody reads is an error; it would be waited for without end."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    with open(descriptor, "wb") as stream:
        if hasattr(os, "set_blocking"):
            os.set_blocking(descriptor, True)
        stream.write(data)
