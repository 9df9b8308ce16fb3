"""Which files are the user's own (neither Python's, nor a library's, nor ours), and their lines in tracebacks."""

from __future__ import annotations

import os
import re
import site
import sys
import sysconfig
from functools import cache
from typing import TYPE_CHECKING

from tonumpy.boundary.foreign import lies_in_foreign

if TYPE_CHECKING:
    from types import TracebackType

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


# An error that comes from a worker has the traceback in its text.
_IN_TEXT = re.compile(r'(?m)^\s*File "([^"\n]+)", line (\d+)')


def failure_of(error: BaseException) -> tuple[str, list[Line], Line | None]:
    """The parts of `spool.Failure`: the error's type, all lines, and the innermost one of the error itself."""
    kind = "" if isinstance(error, SystemExit) else type(error).__name__
    own = _lines(error.__traceback__)
    found, known = dict.fromkeys(own), set[int]()
    each: BaseException | None = error
    while each is not None and id(each) not in known:
        known.add(id(each))
        found.update(dict.fromkeys(_lines(each.__traceback__)))
        told = ((os.path.abspath(path), int(row)) for path, row in _IN_TEXT.findall(str(each)) if is_own(path))
        found.update(dict.fromkeys(told))
        each = each.__cause__ or each.__context__
    return kind, list(found), own[-1] if own else None


def in_one_line(message: str) -> str:
    """The first line and, of what a worker has sent with its traceback, the last, which is its own error."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if len(lines) < 2:
        return "".join(lines)
    return f"{lines[0]} ... {lines[-1]}" if _IN_TEXT.search(message) else f"{lines[0]} ..."


def _lines(traceback: TracebackType | None) -> list[Line]:
    found = []
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if is_own(filename):
            found.append((os.path.abspath(filename), traceback.tb_lineno))
        traceback = traceback.tb_next
    return found
