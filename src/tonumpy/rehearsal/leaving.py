"""Sees a process of a rehearsal leave without a word (`os._exit`, `os.exec*`), and start Pythons that cannot follow it.

What a process has loaded is told when it ends; these are the ways around that. In is what is to be done then; out is
nothing but the calls as the program makes them.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from functools import wraps
from itertools import takewhile

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.rehearsal.order import VARIABLE
from tonumpy.rehearsal.standin.patches import Patches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from tonumpy.rehearsal.recorder import Recorder

_EXECS = ("execv", "execve")  # all others of `os` call one of these two
_ALONE = frozenset("IES")  # options of Python under which it takes no notice of PYTHONPATH, or of sitecustomize


@contextmanager
def watching(recorder: Recorder) -> Iterator[None]:
    """Until the end of the block."""
    patches = Patches()
    try:
        for name in ("_exit", *_EXECS):
            if hasattr(os, name):
                patches.replace(os, name, _telling(recorder, getattr(os, name), name))
        patches.replace(subprocess.Popen, "__init__", _starting(recorder, subprocess.Popen.__init__))
        yield
    finally:
        patches.restore()


def _telling(recorder: Recorder, function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(function)
    def leave(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        recorder.end()
        if name in _EXECS and len(arguments) > 1:
            _note(recorder, arguments[1], arguments[2] if len(arguments) > 2 else None)
        return function(*arguments, **named)

    return leave


def _starting(recorder: Recorder, start: Callable[..., None]) -> Callable[..., None]:
    @wraps(start)
    def started(self: object, args: object = (), *more: Any, **named: Any) -> None:  # noqa: ANN401
        _note(recorder, args, named.get("env"))
        start(self, args, *more, **named)

    return started


def _note(recorder: Recorder, words: object, environment: Mapping[Any, Any] | None) -> None:
    """Of a Python that gets another environment than ours, or is told to take no notice of it."""
    if not isinstance(words, (list, tuple)) or not all(isinstance(word, str) for word in words[:1]):
        return
    program, *others = words or ("",)
    if not os.path.basename(program).startswith("python"):
        return
    options = takewhile(lambda word: isinstance(word, str) and word[:1] == "-" and word[1:2] not in "cm-", others)
    if (environment is not None and VARIABLE not in environment) or any(_ALONE & set(option) for option in options):
        recorder.note_unfollowed()
