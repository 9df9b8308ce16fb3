"""Where the tasks of a run may lay repositories out: in memory, where there is plenty of it."""

from __future__ import annotations

import contextlib
import os

import psutil

_MEMORY = "/dev/shm"  # a file system in memory, on Linux; a file there takes a twentieth of the time
_ENOUGH = 2**30  # bytes that are free there
_PLENTY = 4 * 2**30  # bytes of memory that nobody uses


def places(scratch: str) -> list[str]:
    """In the order in which they are to be tried: one may turn out to be full. TMPDIR, where it is set, is obeyed."""
    return [scratch] if "TMPDIR" in os.environ or not _has_plenty() else [_in_memory(scratch), scratch]


def all_places(scratch: str) -> list[str]:
    """Where something may have been left, whatever holds now."""
    return [_in_memory(scratch), scratch]


def _in_memory(scratch: str) -> str:
    return os.path.join(_MEMORY, os.path.basename(scratch))


def _has_plenty() -> bool:
    try:
        status = os.statvfs(_MEMORY)
    except OSError:
        return False
    free: int = psutil.virtual_memory().available
    return os.access(_MEMORY, os.W_OK) and status.f_bavail * status.f_frsize >= _ENOUGH and free >= _PLENTY


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
