"""Processes that a rehearsed one starts, or leaves to without a word (`os._exit`, `os.exec*`).

What a process has loaded is told when it ends; these are the ways around that. Programs that it starts get an
environment that has what a Python needs to follow. A Python that takes no notice of its environment is not seen.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING

from tonumpy.rehearsal.standin.patches import Patches

try:
    import _posixsubprocess
except ImportError:  # Windows
    _posixsubprocess = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from tonumpy.rehearsal.spool import Recorder

    Hooked = Callable[[Mapping[Any, Any]], Mapping[Any, Any]]

_EXECS = ("execv", "execve")  # all others of `os` call one of these two
_SPAWNS = ("posix_spawn", "posix_spawnp")
# The place of the environment among the arguments of these, of `fork_exec` and of `Popen.__init__`.
_ENVIRONMENT, _OF_FORK_EXEC, _OF_POPEN = 2, 5, 11


@contextmanager
def watching(recorder: Recorder, hooked: Hooked) -> Iterator[None]:
    """Until the end of the block; `hooked` gives an environment what a Python needs to follow."""
    patches = Patches()
    try:
        patches.replace(os, "_exit", _leaving(recorder, os._exit))
        for name in _EXECS:
            if hasattr(os, name):
                patches.replace(os, name, _leaving(recorder, _followed(hooked, getattr(os, name), _ENVIRONMENT)))
        for name in _SPAWNS:
            if hasattr(os, name):
                patches.replace(os, name, _followed(hooked, getattr(os, name), _ENVIRONMENT))
        patches.replace(os, "system", _followed(hooked, os.system, None))
        patches.replace(subprocess.Popen, "__init__", _followed(hooked, subprocess.Popen.__init__, _OF_POPEN))
        if _posixsubprocess is not None:  # by which multiprocessing and joblib start a Python
            patches.replace(_posixsubprocess, "fork_exec", _followed(hooked, _posixsubprocess.fork_exec, _OF_FORK_EXEC))
        yield
    finally:
        patches.restore()


def _leaving(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def leave(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        recorder.end()
        return function(*arguments, **named)

    return leave


def _followed(hooked: Hooked, function: Callable[..., Any], environment: int | None) -> Callable[..., Any]:
    """A function that starts a program, with an environment that it can follow by, which is an argument at a place."""

    @wraps(function)
    def start(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        given = list(arguments)
        if environment is not None and len(given) > environment:
            given[environment] = _environment(hooked, given[environment])
        elif environment is not None and "env" in named:
            named["env"] = _environment(hooked, named["env"])
        else:
            _environment(hooked, None)
        return function(*given, **named)

    return start


def _environment(hooked: Hooked, given: Any) -> Any:  # noqa: ANN401
    """None is that of this process, which the program may have changed."""
    if given is None:
        wanted = hooked(os.environ)
        if wanted is not os.environ:
            os.environ.update(wanted)
        return None
    if isinstance(given, list):  # of fork_exec
        pairs = dict(each.split(b"=", 1) for each in given)
        return [b"=".join(map(os.fsencode, pair)) for pair in hooked(pairs).items()]
    return hooked(given) if hasattr(given, "keys") else given
