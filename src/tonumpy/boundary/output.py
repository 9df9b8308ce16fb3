"""Writes files, each atomically; the only module that does.

    write_file(path, data)                            to a path that a user or a configuration names
    replace_file(path, data)                          in a folder that this program has made for itself
    replace_file(path, data, before=os.lstat(path))   a repaired source (cli/disk.py)

No other module opens a file to write; `tests/test_doors.py` checks that. A file that must not or cannot be written is
an OSError, whose `strerror` says why; the former content stays.
"""

import contextlib
import errno
import os
import stat

from tonumpy.boundary.paths import place_to_write

_CODE = (".py", ".pyi", ".pyw", ".ipynb", ".toml", ".cfg", ".ini", ".sh", ".yaml", ".yml")


def write_file(path: str, data: bytes) -> None:
    """Write a file to a path that a user or a configuration names, and create missing folders.

    Refuses code, settings, read-only files, links in the repository and folders of version control: a misplaced `-o`
    may precede the names of sources. A pipe or a device (`/dev/stdout`) is written to directly.
    """
    target = place_to_write(path)
    if _is_stream(target) or (path.startswith(("/dev/", "/proc/")) and os.path.exists(path)):  # or redirected
        with open(path, "ab") as stream:
            stream.write(data)
        return
    before = None
    if os.path.lexists(target):
        before = os.lstat(target)
        if stat.S_ISDIR(before.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if is_read_only(target, before):
            raise PermissionError(errno.EACCES, "is read-only")
        if before.st_size and target.lower().endswith(_CODE):
            raise PermissionError(errno.EPERM, "holds code or settings, which nothing replaces")
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    replace_file(target, data, before=before)


def is_read_only(path: str, found: os.stat_result) -> bool:
    """True if a file is not writable, or its mode says so, even if root may write to it."""
    return not os.access(path, os.W_OK) or not found.st_mode & 0o222


def replace_file(path: str, data: bytes, *, before: os.stat_result | None = None) -> None:
    """Write a temporary file beside `path`, then rename it: a reader sees the old file or the new one.

    With `before`, the state of the old file, the new one gets its mode and, if the system permits, its owner: so a run
    as root, as in a container, does not take over the files.
    """
    temporary = os.path.join(os.path.dirname(path), f".tonumpy-{os.urandom(8).hex()}.part")
    try:
        with open(temporary, "xb") as stream:
            stream.write(data)
            if before is not None:
                with contextlib.suppress(OSError, AttributeError):  # not on every system
                    os.chown(temporary, before.st_uid, before.st_gid)
                os.chmod(temporary, stat.S_IMODE(before.st_mode) & 0o777)
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def open_to_append(path: str) -> int:
    """Open a log in a folder of our own, and return its descriptor."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _is_stream(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
