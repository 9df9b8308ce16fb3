"""Keeps what is tried from the network, from other processes and from files outside one folder."""

import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OF_FILES = frozenset(
    ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate")
)
# A socket alone reaches nobody: an event loop has a pair of them.
_SOCKETS = ("connect", "bind", "sendto", "sendmsg", "getaddrinfo", "gethostbyname", "gethostbyaddr", "getnameinfo")
_PROCESSES = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.kill")
_NEVER = (*(f"socket.{name}" for name in _SOCKETS), *_PROCESSES, "urllib.", "webbrowser.")
_MEMORY = 24 << 30  # of addresses: torch alone asks for much
_FILE = 64 << 20


class RefusedError(Exception):
    """What is tried wanted the network, a process or a file elsewhere."""


def confine(folder: Path, seconds: int) -> None:
    """Confine this process, and those that it forks, from now on. What others left in the folder is removed.

    `seconds`: of the processor, of which it is ended."""
    root = os.path.realpath(folder)
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    os.chdir(root)
    tempfile.tempdir = root
    os.environ.update(dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), root))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))

    def is_outside(path: object) -> bool:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False  # an open file
        return not os.path.realpath(os.fsdecode(path)).startswith((root, "/dev/null"))

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith(_NEVER):
            raise RefusedError(event)
        if event == "open":
            path, _mode, flags = arguments
            writes = isinstance(flags, int) and flags & _WRITES
            if writes and is_outside(path):
                raise RefusedError(f"open {path!r}")
        elif event in _OF_FILES and is_outside(arguments[0]):
            raise RefusedError(event)

    sys.addaudithook(watch)
