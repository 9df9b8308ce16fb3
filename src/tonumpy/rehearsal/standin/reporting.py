"""Makes events for all parts, reports what real hardware refuses, and warns.

An error that the user's own code handles is raised: `except TypeError: x.cpu().numpy()` recovers from it,
`pytest.raises(TypeError)`, `assertRaises` and a strict `xfail` expect it, `suppress(TypeError)` skips what follows.
A handler that logs, continues with the next item or raises again does none of these: there the program goes on as if
repaired, so that later conversions are seen as well.

Torch's C++ attributes a warning to the innermost Python frame, here a wrapper of ours; it is moved to the code that
called us.
"""

from __future__ import annotations

import ast
import builtins
import functools
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from tonumpy.rehearsal.events import Call, Event, Observer, Reason, Way
from tonumpy.rehearsal.frames import UNKNOWN, is_own, node_at, outward, place_of, tree_of, value_of
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.text.names import last_name
from tonumpy.text.syntax import TRIES
from tonumpy.text.tree_paths import path_at, path_to
from tonumpy.wanted_errors import treatment

_OWN = os.path.join(Path(__file__).parents[2], "")


class Reports:
    """Makes events for the observer of a run, and raises the refusals of real hardware that the user's code handles.

    Caches the `Call` of each frame position: most conversions repeat."""

    def __init__(self, observer: Observer, *, stop: bool) -> None:
        self.observer = observer
        self._stop = stop  # at each refusal
        self._paths: dict[tuple[CodeType, str, int], list[ast.AST]] = {}
        # By id: code objects of two files may be equal. The entry keeps the code alive.
        self._calls: dict[tuple[int, int], tuple[CodeType, Call | None]] = {}

    def stack(self, frame: FrameType | None = None) -> tuple[Call, ...]:
        """The stack of a frame or else of the caller, innermost call first."""
        found = []
        calls = self._calls
        each: FrameType | None = frame or sys._getframe(1)
        while each is not None:  # for each conversion, so it must be fast
            key = (id(each.f_code), each.f_lasti)
            known = calls.get(key)
            if known is None:
                known = calls[key] = each.f_code, _call(each)
            if known[1] is not None:
                found.append(known[1])
            each = each.f_back
        return tuple(found)

    def event(self, tensor: Any, way: Way, frame: FrameType | None = None) -> Event:
        """The event of a tensor now, or at a frame, without reasons for a refusal."""
        return Event(
            way,
            (),
            _text(tensor.device),
            tensor.requires_grad,
            torch.is_grad_enabled(),
            _text(tensor.dtype),
            _text(tensor.layout),
            tuple(tensor.shape),
            self.stack(frame or sys._getframe(1)),
        )

    def tell(self, way: Way, tensor: Any, words: str, frame: FrameType | None = None) -> None:
        """Report a fault that raises no error; `words` describe it."""
        with guarded(f"{way} is not told of"):
            self.observer(self.event(tensor, way, frame)._replace(about=words), tensor)

    def refuse(
        self, tensor: Any, way: Way, reasons: tuple[Reason, ...], error: Exception, about: Callable[[], str] = str
    ) -> None:
        is_handled = False
        with guarded(f"a refusal ({way}) is not told of"):
            is_handled = self._handles(type(error))
            told = self.event(tensor, way)._replace(reasons=reasons, error=(type(error).__name__, str(error)))
            self.observer(told._replace(is_handled=is_handled, about=about()), tensor)
        if self._stop or is_handled:
            raise error

    def _handles(self, error: type[BaseException]) -> bool:
        """True if a frame of the user's, from the innermost outward, handles an error of this type."""
        is_nearest = True
        for frame in outward(sys._getframe(1)):
            if is_own(frame.f_code.co_filename):
                found = _is_handled(self._path(frame), error, frame, is_nearest=is_nearest)
                if found is not None:
                    return found
                is_nearest = False
        return False

    def _path(self, frame: FrameType) -> list[ast.AST]:
        """The nodes from the module down to the expression the frame evaluates; empty if its file cannot be read."""
        filename = frame.f_code.co_filename
        key = (frame.f_code, filename, frame.f_lasti)
        if key not in self._paths:
            tree = tree_of(filename)
            node = node_at(frame, ast.expr)
            path = [] if tree is None else path_at(tree, frame.f_lineno) if node is None else path_to(tree, node)
            self._paths[key] = _as_called(path, frame.f_code.co_name)
        return self._paths[key]


_text = functools.cache(str)


def _call(frame: FrameType) -> Call | None:
    code = frame.f_code
    if code.co_filename.startswith(_OWN):
        return None
    row, end_row, column, end_column = place_of(frame)
    return Call(code.co_filename, row, code.co_name, end_row, column, end_column)


class guarded:  # noqa: N801 -- as those of contextlib
    """Context manager that turns an internal error into a warning about what is lost."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> bool:
        if not isinstance(problem, Exception):
            return False
        warn(f"{self._what} ({type(problem).__name__}: {problem})")
        return True


_MOST = 300


def warn(text: str) -> None:
    """Warn that the stand-in differs from hardware."""
    text = (text.splitlines() or [""])[0][:_MOST]  # torch's message about a missing operator has pages
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    except RuntimeWarning:
        print(f"tonumpy: {text}", file=sys.stderr)


def patch(patches: Patches) -> None:
    """Patch `warnings` to move warnings from our files to the calling code."""
    show = warnings._showwarnmsg  # type: ignore[attr-defined]

    def placed(message: Any) -> None:
        if message.filename.startswith(_OWN):
            frames = outward(sys._getframe(1))
            frame = next((each for each in frames if not each.f_code.co_filename.startswith(_OWN)), None)
            if frame is not None:
                message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno
        show(message)

    patches.replace(warnings, "_showwarnmsg", placed)


_GENERAL = (Exception, BaseException)


def _as_called(path: list[ast.AST], function: str) -> list[ast.AST]:
    """The path without the `with` and `try` around a running lambda: it may be called outside of them."""
    places = [place for place, node in enumerate(path) if isinstance(node, ast.Lambda)]
    if function != "<lambda>" or not places:
        return path
    outer = [node for node in path[: places[-1]] if not isinstance(node, (ast.With, ast.AsyncWith, *TRIES))]
    return [*outer, *path[places[-1] :]]


def _is_handled(path: list[ast.AST], error: type[BaseException], frame: FrameType, *, is_nearest: bool) -> bool | None:
    """True if the code at the end of the path handles the error, False if it only catches it; None if the error leaves
    the function."""
    is_general = False

    def catches(kind: ast.expr) -> bool:
        nonlocal is_general
        found = [each for each in _classes(kind, frame) if issubclass(error, each)]
        is_general = is_general or any(each in _GENERAL for each in found)
        return bool(found)

    call = path[-1] if path else None
    given = call.args[1:] if isinstance(call, ast.Call) else []  # as in `assertRaises(TypeError, x.numpy)`
    if any(treatment([*path, each], catches) == "wanted" for each in given):
        return True
    found = treatment(path, catches)
    if found is None or found == "wanted":
        return None if found is None else True
    if found == "made good":
        return is_nearest or not is_general
    return not is_general and (found == "answered" or _is_suppressed(path, catches))


def _is_suppressed(path: list[ast.AST], catches: Callable[[ast.expr], bool]) -> bool:
    """True if a `with contextlib.suppress(...)` around the end of a path covers the error."""
    items = [item for node in path if isinstance(node, (ast.With, ast.AsyncWith)) for item in node.items]
    calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
    return any(last_name(call.func) == "suppress" and any(map(catches, call.args)) for call in calls)


def _classes(kind: ast.expr, frame: FrameType) -> list[type[BaseException]]:
    """The exception classes that an expression names, without evaluating it."""
    if isinstance(kind, ast.Tuple):
        return [each for part in kind.elts for each in _classes(part, frame)]
    value = value_of(kind, frame)
    if value is UNKNOWN and isinstance(kind, ast.Name):
        value = vars(builtins).get(kind.id)
    found = value if isinstance(value, tuple) else (value,)
    return [each for each in found if isinstance(each, type) and issubclass(each, BaseException)]
