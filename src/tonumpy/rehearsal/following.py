"""The order that a process is given for a rehearsal, how it is carried out, and how those that it starts follow.

A rehearsal ends behind the program's own `atexit` functions, when Python has waited for its threads. Nothing is joined
or waited for here, so a program ends under a rehearsal whenever it ends without. What a process has loaded is told when
it ends, or leaves without a word (`os._exit`, `os.exec*`). Programs that it starts get an environment that has what a
Python needs to follow; one that takes no notice of its environment is not seen.
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
    """`text` is the order. Names and values are text or bytes; the mapping itself, where it has all that is needed."""
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
    """Carry out an order, in this process and in those that it starts; ImportError where there is no torch.

    `is_first`: it is the process of the program itself.
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


_PAUSE = 0.05  # seconds in which a thread of torch's own can come out of the stand-in


class Ending:
    """`end` is to be registered with `atexit` before the program, and torch, are imported: it is called last then."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._recorder: Recorder | None = None

    def begin(self, text: str, *, is_first: bool = False) -> Recorder:
        """Rehearse in this process, as an order says, until it ends; ImportError where there is no torch.

        `is_first`: it is the process of the program itself."""
        self._recorder = self._stack.enter_context(rehearsing(text, is_first=is_first))
        return self._recorder

    def end(self) -> None:
        if self._recorder is None:
            return
        self._recorder.end()
        if threading.active_count() == 1:
            self._stack.close()
            return
        # A daemon thread may compute on the stand-in until there is no Python any more. So it stays, and for good: what
        # nothing refers to is taken apart while Python ends.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        time.sleep(_PAUSE)


_EXECS = ("execv", "execve")  # all others of `os` call one of these two
# What starts a program, and the place of the environment among its arguments.
_STARTS: list[tuple[Any, str, int | None]] = [
    *((os, name, 2) for name in (*_EXECS, "posix_spawn", "posix_spawnp")),
    (os, "system", None),
    (subprocess.Popen, "__init__", 11),
    (_posixsubprocess, "fork_exec", 5),  # by which multiprocessing and joblib start a Python
]


def _watch(patches: Patches, recorder: Recorder, hooked: Hooked) -> None:
    """Tell of what the process has loaded before it leaves; `hooked` gives an environment what a Python needs to
    follow."""

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
    """Start a program with an environment that it can follow by, which is an argument at a place."""
    given = list(arguments)
    if place is not None and len(given) > place:
        given[place] = _environment(hooked, given[place])
    elif place is not None and "env" in named:
        named["env"] = _environment(hooked, named["env"])
    else:
        _environment(hooked, None)
    return function(*given, **named)


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
