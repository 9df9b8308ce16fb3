"""Sees a process of a rehearsal leave without a word (`os._exit`, `os.exec*`), and start others, which are to follow.

What a process has loaded is told when it ends; these are the ways around that. In is what is to be done then; out is
nothing but the calls as the program makes them, with an environment that has what a Python needs to follow.
"""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING

from tonumpy.rehearsal.environment import hooked
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.unfollowed import command_alone

try:
    import _posixsubprocess
except ImportError:  # Windows
    _posixsubprocess = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from tonumpy.rehearsal.recorder import Recorder

_EXECS = ("execv", "execve")  # all others of `os` call one of these two
_SPAWNS = ("posix_spawn", "posix_spawnp")
# The place of the environment among the arguments of these, of `fork_exec` and of `Popen`.
_ENVIRONMENT, _OF_FORK_EXEC, _OF_POPEN = 2, 5, 9


@contextmanager
def watching(recorder: Recorder, text: str) -> Iterator[None]:
    """Until the end of the block; `text` is the order."""
    patches, starts = Patches(), _Starts(recorder, text)
    try:
        patches.replace(os, "_exit", _leaving(recorder, os._exit))
        for name in _EXECS:
            if hasattr(os, name):
                patches.replace(os, name, _leaving(recorder, starts.at(getattr(os, name), 1, _ENVIRONMENT)))
        for name in _SPAWNS:
            if hasattr(os, name):
                patches.replace(os, name, starts.at(getattr(os, name), 1, _ENVIRONMENT))
        patches.replace(os, "system", starts.at(os.system, 0, None))
        patches.replace(subprocess.Popen, "__init__", starts.of_popen(subprocess.Popen.__init__))
        if _posixsubprocess is not None:  # by which multiprocessing and joblib start a Python
            fork_exec = starts.at(_posixsubprocess.fork_exec, 0, _OF_FORK_EXEC)
            patches.replace(_posixsubprocess, "fork_exec", fork_exec)
        yield
    finally:
        patches.restore()


def _leaving(recorder: Recorder, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def leave(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        recorder.end()
        return function(*arguments, **named)

    return leave


class _Starts:
    """Functions that start a program -> the same, with an environment that it can follow by."""

    def __init__(self, recorder: Recorder, text: str) -> None:
        self._recorder = recorder
        self._text = text
        self._popen = threading.local()

    def at(self, function: Callable[..., Any], words: int, environment: int | None) -> Callable[..., Any]:
        """The places of the words, and of the environment, if it takes one, among the arguments."""

        @wraps(function)
        def start(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            given = list(arguments)
            self._note(given[words] if len(given) > words else ())
            if environment is not None and len(given) > environment:
                given[environment] = self._environment(given[environment])
            elif environment is not None and "env" in named:
                named["env"] = self._environment(named["env"])
            else:
                self._environment(None)
            return function(*given, **named)

        return start

    def of_popen(self, init: Callable[..., None]) -> Callable[..., None]:
        @wraps(init)
        def start(popen: object, args: object = (), *more: Any, **named: Any) -> None:  # noqa: ANN401
            self._note(args)
            if len(more) > _OF_POPEN:
                more = (*more[:_OF_POPEN], self._environment(more[_OF_POPEN]), *more[_OF_POPEN + 1 :])
            else:
                named["env"] = self._environment(named.get("env"))
            self._popen.starts = True
            try:
                init(popen, args, *more, **named)
            finally:
                self._popen.starts = False

        return start

    def _environment(self, given: Any) -> Any:  # noqa: ANN401
        """None is that of this process, which the program may have changed."""
        if given is None:
            wanted = hooked(os.environ, self._text)
            if wanted is not os.environ:
                os.environ.update(wanted)
            return None
        if isinstance(given, list):  # of fork_exec
            pairs = dict(each.split(b"=", 1) for each in given)
            return [b"=".join(map(os.fsencode, pair)) for pair in hooked(pairs, self._text).items()]
        return hooked(given, self._text) if hasattr(given, "keys") else given

    def _note(self, words: object) -> None:
        command = None if getattr(self._popen, "starts", False) else command_alone(words)
        if command is not None:
            self._recorder.note_unfollowed(command)
