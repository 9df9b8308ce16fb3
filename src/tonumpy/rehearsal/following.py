"""Runs a rehearsal in a process as its `Order` says, and in the Python processes that it starts.

A rehearsal ends after the program's own `atexit` functions, when Python has waited for its threads. It joins and waits
for nothing itself, so a program ends under a rehearsal whenever it ends without. The loaded files are recorded when the
process ends, also by `os._exit` or `os.exec*`. Child processes get the order through environment variables; a child
that ignores its environment is not rehearsed.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

try:
    import _posixsubprocess
except ImportError:  # Windows
    _posixsubprocess = None  # type: ignore[assignment]

from collections.abc import Callable, Iterator, Mapping

from tonumpy.rehearsal.spool import Recorder

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

Hooked = Callable[[Mapping[Any, Any]], Mapping[Any, Any]]

VARIABLE = "TONUMPY_REHEARSAL"  # of the environment, for the processes that a program starts


class Order(NamedTuple):
    folder: str
    device: str
    stop: bool
    devices: int = 1

    def as_text(self) -> str:
        return json.dumps(self)


def order_of(text: str) -> Order:
    return Order(*json.loads(text))


_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")  # has the sitecustomize.py
NAMES = (VARIABLE, "PYTHONPATH")


def hooked(environment: Mapping[Any, Any], text: str) -> Mapping[Any, Any]:
    """Return the environment with the order (`text`) and our folder first in PYTHONPATH, or the very mapping if it has
    them already. Names and values are text or bytes."""
    named = {os.fsdecode(name): name for name in environment}
    former = os.fsdecode(environment[named["PYTHONPATH"]]) if "PYTHONPATH" in named else ""
    paths = [path for path in former.split(os.pathsep) if path]
    order = os.fsdecode(environment[named[VARIABLE]]) if VARIABLE in named else ""
    if paths[:1] == [_CHILD] and order == text:
        return environment
    wanted = {VARIABLE: text, "PYTHONPATH": os.pathsep.join([_CHILD, *(path for path in paths if path != _CHILD)])}
    return {**environment, **{named.get(name, name): value for name, value in wanted.items()}}


@contextmanager
def rehearsing(text: str, *, is_first: bool = False) -> Iterator[Recorder]:
    """Context manager: rehearse by an order in this process and its children; ImportError if there is no torch.

    `is_first`: this is the process of the program itself, not a child.
    """
    import torch  # noqa: F401 -- the user's own

    from tonumpy.rehearsal.standin import pretend  # with torch: start-up
    from tonumpy.rehearsal.standin.patches import Patches  # with torch: start-up

    order = order_of(text)
    recorder = Recorder(order.folder, is_first=is_first)
    with Patches() as patches:
        wanted = hooked(os.environ, text)
        for name in NAMES:
            patches.put(os.environ, name, wanted[name])
        with pretend(order.device, recorder, stop=order.stop, devices=order.devices) as recorder.before_end:
            _watch(patches, recorder, partial(hooked, text=text))
            yield recorder


_PAUSE = 0.05  # seconds, for threads of torch's own to leave the stand-in's code


class Ending:
    """Holds a rehearsal until the process ends. Register `end` with `atexit` before the program and torch are imported:
    it is then called last."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._recorder: Recorder | None = None

    def begin(self, text: str, *, is_first: bool = False) -> Recorder:
        """Rehearse in this process by an order until `end`, as `rehearsing` does."""
        self._recorder = self._stack.enter_context(rehearsing(text, is_first=is_first))
        return self._recorder

    def end(self) -> None:
        if self._recorder is None:
            return
        self._recorder.end()
        if threading.active_count() == 1:
            self._stack.close()
            return
        # A daemon thread may use the stand-in until the interpreter is gone. So leak a reference: an object without
        # one would be destroyed while Python shuts down.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        time.sleep(_PAUSE)


_EXECS = ("execv", "execve")  # all others of `os` call one of these two
# Functions that start a program, each with the index of the environment among its arguments.
_STARTS: list[tuple[Any, str, int | None]] = [
    *((os, name, 2) for name in (*_EXECS, "posix_spawn", "posix_spawnp")),
    (os, "system", None),
    (subprocess.Popen, "__init__", 11),
    (_posixsubprocess, "fork_exec", 5),  # multiprocessing and joblib start Python with it
]


def _watch(patches: Patches, recorder: Recorder, hooked: Hooked) -> None:
    """Patch `os._exit` and `os.exec*` to record the loaded files first, and the functions that start programs to pass
    the environment through `hooked`."""

    def leave(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        recorder.end()
        return function(*arguments, **named)

    for owner, name, place in _STARTS:
        if hasattr(owner, name):
            patches.around(owner, name, partial(_start, hooked, place))
    for name in ("_exit", *_EXECS):
        if hasattr(os, name):
            patches.around(os, name, leave)


def _start(hooked: Hooked, place: int | None, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
    """Start a program with the order in its environment, the argument at index `place` or `env`."""
    given = list(arguments)
    if place is not None and len(given) > place:
        given[place] = _environment(hooked, given[place])
    elif place is not None and "env" in named:
        named["env"] = _environment(hooked, named["env"])
    else:
        _environment(hooked, None)
    return function(*given, **named)


def _environment(hooked: Hooked, given: Any) -> Any:  # noqa: ANN401
    """The environment with the order. None stands for `os.environ`, which is updated if the program has changed it."""
    if given is None:
        wanted = hooked(os.environ)
        if wanted is not os.environ:
            os.environ.update(wanted)
        return None
    if isinstance(given, list):  # of fork_exec
        pairs = dict(each.split(b"=", 1) for each in given)
        return [b"=".join(map(os.fsencode, pair)) for pair in hooked(pairs).items()]
    return hooked(given) if hasattr(given, "keys") else given
