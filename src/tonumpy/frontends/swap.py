"""What an operating system can do with two files at once, and what it knows of who else writes one."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux
_RENAME_SWAP = 2  # of macOS
_PATIENCE = 1.0  # seconds; somebody who saves a file has it open for less


def swap(one: str, other: str) -> bool:
    """Let two files change names in one step. False where the system, or the file system, cannot."""
    return _swapping()(os.fsencode(one), os.fsencode(other)) == 0


@cache
def _swapping() -> Callable[[bytes, bytes], int]:
    import ctypes

    try:
        library = ctypes.CDLL(None)
        if sys.platform == "linux":
            rename = library.renameat2
            return lambda one, other: int(rename(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE))
        if sys.platform == "darwin":
            exchange = library.renamex_np
            return lambda one, other: int(exchange(one, other, _RENAME_SWAP))
    except (AttributeError, OSError, TypeError):
        pass
    return lambda _one, _other: -1


def lock(descriptor: int) -> bool:
    """Lock an open file for this process; False where another has locked it, or nobody can."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def is_being_written(descriptor: int) -> bool:
    """Whether another process has the file open to write, and does not close it soon. False where nobody can tell.

    The system grants a lease, of which it would have to take leave before the file is opened to write, only where it
    is not open so already.
    """
    try:
        from fcntl import F_RDLCK, F_SETLEASE, F_UNLCK, fcntl
    except ImportError:
        return False
    with contextlib.suppress(ValueError):  # in another thread than the first
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # with which the system takes its leave
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl(descriptor, F_SETLEASE, F_RDLCK)
            fcntl(descriptor, F_SETLEASE, F_UNLCK)
        except BlockingIOError:
            if time.monotonic() > until:
                return True
            time.sleep(0.01)
        except OSError:
            return False
        else:
            return False
