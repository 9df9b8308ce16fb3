"""Writes repaired sources to the disk, each in one step, and tells which could not be written (reports: disk.py).

What goes wrong with one file is a SourceError that names it, and the others are still written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import zlib
from typing import TYPE_CHECKING

from tonumpy.boundary.output import open_new, refuse_private
from tonumpy.boundary.paths import real_path, root_of
from tonumpy.findings import SourceError
from tonumpy.frontends.disk import os_error
from tonumpy.frontends.swap import is_being_written, lock, swap
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import FrameType

    from tonumpy.frontends.outcomes import Change

_PREFIX = ".tonumpy-"  # and eight random digits, those of the new content and those of the old: a temporary file
_LENGTH = len(_PREFIX) + 24
_UNFINISHED = 0o200  # the mode of a temporary file that does not hold all of the new content yet


class Stopped(KeyboardInterrupt):
    """A signal has come while files were written; the text says how many were."""

    def __init__(self, number: int, written: int, total: int) -> None:
        super().__init__(f"{signal.Signals(number).name}: {written} of {total} files are written, the others as before")
        self.number = number


def write_all(changes: Sequence[tuple[str, Change]], arguments: Sequence[str]) -> list[SourceError]:
    """The errors. A signal is waited with until the file at hand is written; then it is `Stopped`."""
    errors: list[SourceError] = []
    with _deferred_signals() as arrived:
        for number, (path, change) in enumerate(changes):
            if arrived:
                raise Stopped(arrived[0], number - len(errors), len(changes))
            try:
                _refuse_out_of_tree(path, arguments)
                write(path, change.old, change.new)
            except SourceError as error:
                errors.append(error)
    return errors


@contextlib.contextmanager
def _deferred_signals() -> Iterator[list[int]]:
    arrived: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        arrived.append(number)

    before = {}
    with contextlib.suppress(ValueError):  # in another thread than the first, which is the one that gets signals
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as in a shell's background
                before[number] = signal.signal(number, note)
    try:
        yield arrived
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _refuse_out_of_tree(path: str, arguments: Sequence[str]) -> None:
    """What lies outside the repository, or the folder, that was named is not ours to write, wherever links lead."""
    if not os.path.islink(path):
        return
    target = real_path(path)
    for argument in arguments or [os.curdir]:
        allowed = real_path(argument)
        if os.path.isdir(allowed):
            allowed = root_of(allowed) or allowed
        if target == allowed or target.startswith(os.path.join(allowed, "")):
            return
    raise SourceError(path, f"not written: the link leads out of the folder, to {target}")


def write(path: str, old: bytes, new: bytes) -> None:
    """Replace the content `old` of a file by `new`; a reader meanwhile sees the one or the other, never a part.

    A link is written through to its target. The target keeps its mode, owner and extended attributes. A file that is
    not `old` any more is left alone, and so is one that its owner has made read-only, and one with several names (hard
    links): a file put in its place would have but one, and a store that shares its files so wants them unchanged.
    """
    target = real_path(path)
    try:
        refuse_private(os.path.abspath(path), target)
        with open(os.open(target, os.O_RDONLY | getattr(os, "O_BINARY", 0)), "rb") as stream:
            before = os.fstat(stream.fileno())
            if not stat.S_ISREG(before.st_mode) or stream.read() != old:
                raise _ChangedError
            _refuse_protected(target, before)
            lock(stream.fileno())
            name = _PREFIX + os.urandom(4).hex() + _digest(new) + _digest(old)
            temporary = os.path.join(os.path.dirname(target), name)
            try:
                _write_like(temporary, new, target, before)
                _put_in_place(temporary, target, stream.fileno(), old, new)
            except BaseException:
                with contextlib.suppress(OSError):
                    _remove_unless_saved(temporary)
                raise
    except _ChangedError as error:
        raise SourceError(path, "not written: the file changed during the run") from error
    except OSError as error:
        raise os_error(path, error) from error


def folder_of_target(path: str) -> str:
    """Of what a link leads to, beside which its new content is written."""
    return os.path.dirname(real_path(path) if os.path.islink(path) else path)


def remove_leftovers(folders: Iterable[str]) -> list[SourceError]:
    """Remove the temporary files of runs that were killed, which those that still run have locked.

    One that holds neither what was to be written nor what was there before is what somebody saved at the very moment
    when the two changed places: it stays, and is an error.
    """
    errors: list[SourceError] = []
    for folder in folders:
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(folder or os.curdir) if name.startswith(_PREFIX)]
            paths = [os.path.join(folder, name) for name in names if len(name) == _LENGTH]
            errors += [SourceError(path, _SAVED) for path in paths if not _remove_if_left(path)]
    return errors


_SAVED = "holds what was saved while a run was killed: compare it with the files beside it, and remove it"


def _remove_if_left(path: str) -> bool:
    """False where it is the user's."""
    with contextlib.suppress(OSError):
        mode = os.lstat(path).st_mode
        if stat.S_ISREG(mode):
            with open(os.open(path, os.O_WRONLY if _is_unfinished(mode) else os.O_RDONLY), "rb") as stream:
                return not lock(stream.fileno()) or _remove_unless_saved(path)
    return True


def _remove_unless_saved(path: str) -> bool:
    if not _is_unfinished(os.lstat(path).st_mode) and _digest(read_regular(path)) not in (path[-16:-8], path[-8:]):
        return False
    os.unlink(path)
    return True


def _is_unfinished(mode: int) -> bool:
    return stat.S_IMODE(mode) == _UNFINISHED


def _digest(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


class _ChangedError(Exception):
    """The file is not what it was."""


def _refuse_protected(target: str, before: os.stat_result) -> None:
    """The rights of root would do for a read-only file, but its mode says what its owner wants."""
    if not os.access(target, os.W_OK) or not before.st_mode & 0o222:
        raise PermissionError(errno.EACCES, "not written: the file is read-only")
    if before.st_nlink > 1:
        raise OSError(errno.EMLINK, f"not written: the file has {before.st_nlink} names (hard links)")


def _write_like(temporary: str, data: bytes, target: str, before: os.stat_result) -> None:
    """A new file with the data, and all else as the target has it."""
    try:
        descriptor = open_new(temporary, _UNFINISHED)
    except PermissionError as error:  # of the folder, not of the file
        folder = os.path.relpath(os.path.dirname(temporary))
        reason = f"not written: no file can be made in its folder ({folder}): {error.strerror}"
        raise PermissionError(error.errno, reason) from error
    with open(descriptor, "wb") as stream:
        lock(descriptor)
        stream.write(data)
        stream.flush()
        if hasattr(os, "fchown"):
            now = os.fstat(descriptor)
            if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
                try:
                    os.fchown(descriptor, before.st_uid, before.st_gid)
                except OSError as error:
                    reason = "not written: the new file could not keep its owner or group"
                    raise PermissionError(errno.EPERM, reason) from error
        _copy_attributes(target, temporary)
        os.chmod(temporary, stat.S_IMODE(before.st_mode))
        os.fsync(descriptor)


def _copy_attributes(source: str, to: str) -> None:
    if not hasattr(os, "listxattr"):
        return
    try:
        names = os.listxattr(source)
    except OSError:
        return  # there are none on this file system
    for name in names:
        try:
            os.setxattr(to, name, os.getxattr(source, name))
        except OSError as error:
            if name.startswith("security."):
                continue  # the system gives the new file its own
            raise OSError(error.errno, f"not written: its attribute {name} cannot be kept") from error


def _put_in_place(temporary: str, target: str, before: int, old: bytes, new: bytes) -> None:
    """The two change places, and only then it is seen for sure what was there: it may have been saved meanwhile."""
    if not swap(temporary, target):  # the system cannot; between this look and the next step somebody may save
        if read_regular(target) != old:
            raise _ChangedError
        os.replace(temporary, target)
        return
    if _is_untouched(temporary, before, old):
        os.unlink(temporary)
        return
    swap(temporary, target)
    if read_regular(temporary) != new:  # saved twice, the second time to our file
        swap(temporary, target)
    raise _ChangedError


def _is_untouched(path: str, before: int, old: bytes) -> bool:
    """Whether this is the file that was read, its content is the same and nobody writes to it yet."""
    found, known = os.lstat(path), os.fstat(before)
    if (found.st_dev, found.st_ino) != (known.st_dev, known.st_ino) or is_being_written(before):
        return False
    return os.pread(before, len(old) + 1, 0) == old if hasattr(os, "pread") else read_regular(path) == old
