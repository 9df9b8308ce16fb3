"""Which files are the user's own (neither Python's, nor a library's, nor ours), and where in them an error arose."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from functools import cache
from typing import TYPE_CHECKING

from tonumpy.boundary.foreign import lies_in_foreign

if TYPE_CHECKING:
    Line = tuple[str, int]

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_WRITTEN_BY_TORCH = "torchinductor_"  # the folder of what torch.compile writes


@cache
def is_own(filename: str) -> bool:
    """True for a file of the user's, by the name that Python knows; the working folder is that of the first call."""
    if not filename or filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    if any(part in path for part in (*_INSTALLED, _WRITTEN_BY_TORCH)) or path.startswith(_library_folders()):
        return False
    return os.path.isfile(path) and (path == _program() or not lies_in_foreign(path))


def _program() -> str | None:
    """Is named, so it is the user's wherever it lies."""
    named = getattr(sys.modules.get("__main__"), "__file__", None)
    return None if named is None else os.path.abspath(named)


@cache
def is_of_torch(filename: str) -> bool:
    """Torch's own, or ours: what stands between a call of a tensor's method and the method."""
    path = os.path.abspath(filename)
    return path.startswith(os.path.join(_HERE, "")) or f"{os.sep}torch{os.sep}" in path


@cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    folders.add(site.getusersitepackages())
    folders.add(os.path.dirname(os.__file__))
    folders.add(_HERE)
    real = {os.path.realpath(folder) for folder in folders}
    return tuple(os.path.join(folder, "") for folder in folders | real if folder != sys.prefix)


def failure_of(error: BaseException) -> tuple[str, Line | None]:
    """The parts of `spool.Failure`: the error's type, and the innermost line of the user's own in its traceback."""
    traceback, place = error.__traceback__, None
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        place = (os.path.abspath(filename), traceback.tb_lineno) if is_own(filename) else place
        traceback = traceback.tb_next
    return "" if isinstance(error, SystemExit) else type(error).__name__, place


def in_one_line(message: str) -> str:
    """The first line and, of what a worker has sent with its traceback, the last, which is its own error."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if len(lines) < 2:
        return "".join(lines)
    return f"{lines[0]} ... {lines[-1]}" if "Traceback (most recent call last):" in message else f"{lines[0]} ..."
