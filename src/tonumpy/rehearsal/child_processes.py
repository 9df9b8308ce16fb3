"""Processes that a rehearsed one starts, or leaves to without a word (`os._exit`, `os.exec*`).

What a process has loaded is told when it ends; these are the ways around that. Programs that it starts get an
environment that has what a Python needs to follow; a Python that cannot follow, and may import torch, is noted.
"""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.rehearsal.environment import hooked
from tonumpy.rehearsal.standin.patches import Patches

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALONE = frozenset("IES")  # options of Python under which it takes no notice of PYTHONPATH, or of sitecustomize
_WITH_VALUE = frozenset("WX")
_WITHOUT_TORCH = frozenset({"pip", "ensurepip"})  # modules beside the standard library that start alone and often
_MAX_BYTES = 1_000_000  # of a script that is read


class _Start(NamedTuple):
    """`kind`: "c" and "m" are Python's own options, "" a script, which `value` names."""

    options: frozenset[str]
    kind: str
    value: str


def command_alone(words: object) -> str | None:
    """The command, where it starts a Python that cannot follow and that may import torch."""
    given = _words(words)
    for place, word in enumerate(given):
        if os.path.basename(word).startswith("python"):
            start = _start(given[place + 1 :])
            if start.options & _ALONE and _may_import_torch(start):
                return shlex.join([os.path.basename(word), *given[place + 1 :]])
            return None
        if not isinstance(words, str):
            return None
    return None


def _words(words: object) -> list[str]:
    """A text is a command of the shell, or the name of a program."""
    if isinstance(words, (str, bytes)):
        try:
            return shlex.split(os.fsdecode(words))
        except ValueError:
            return []
    if not isinstance(words, (list, tuple)):
        return []
    try:
        return [os.fsdecode(word) for word in words]
    except TypeError:
        return []


def _start(words: Sequence[str]) -> _Start:
    """Parse a command line as Python itself does."""
    options, at = set[str](), 0
    while at < len(words) and words[at][:1] == "-" and words[at] != "-":
        letters = "" if words[at].startswith("--") else words[at][1:]
        following = words[at + 1] if at + 1 < len(words) else ""
        for place, letter in enumerate(letters):
            rest = letters[place + 1 :]
            if letter in "cm":
                return _Start(frozenset(options), letter, rest or following)
            if letter in _WITH_VALUE:
                at += not rest
                break
            options.add(letter)
        at += 1
    return _Start(frozenset(options), "", words[at] if at < len(words) else "")


def _may_import_torch(start: _Start) -> bool:
    """Not where all that it imports is of the standard library."""
    if start.kind == "m":
        return not _is_standard(start.value) and start.value not in _WITHOUT_TORCH
    try:
        text = start.value if start.kind == "c" else _read(start.value)
        tree = ast.parse(text)
    except FileNotFoundError:
        return os.path.isdir(start.value)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return start.kind != "c"
    named = [name for node in ast.walk(tree) for name in _imported(node)]
    return "torch" in text or not all(map(_is_standard, named))


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(_MAX_BYTES)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


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
