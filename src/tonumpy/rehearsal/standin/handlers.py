"""Tells if the user's own code handles a refusal, so that it must be raised there.

`except TypeError: x.cpu().numpy()` makes good what was refused; `pytest.raises(TypeError)`, `assertRaises` and a strict
`xfail` want it, `suppress(TypeError)` leaves out what follows. A handler that logs, goes to the next one or raises
again does none of these: there the program goes on as if it were repaired, and what comes after is seen as well.
"""

from __future__ import annotations

import ast
import builtins
import sys
from typing import TYPE_CHECKING, Any

from tonumpy.observed.sites import is_at
from tonumpy.rehearsal.frames import place_of, tree_of
from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin.reporting import Reports, guarded
from tonumpy.text.names import last_name
from tonumpy.text.syntax import TRIES, walk
from tonumpy.text.tree_paths import path_at, path_to
from tonumpy.text.wanted_errors import treatment

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from tonumpy.rehearsal.events import Observer, Reason, Way
    from tonumpy.text.wanted_errors import Treatment

_GENERAL = (Exception, BaseException)


class Refusals(Reports):
    """Tells of what real hardware refuses, too, and raises the error where the user's own code handles it."""

    def __init__(self, observer: Observer, *, stop: bool) -> None:
        super().__init__(observer)
        self._stop = stop  # at each
        self._paths: dict[tuple[CodeType, str, int], list[ast.AST]] = {}

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
        """True if the code that called, or what called that, handles an error of this type."""
        frame: FrameType | None = sys._getframe(1)
        is_nearest = True
        while frame is not None:
            if is_own(frame.f_code.co_filename):
                found = _is_handled(self._path(frame), error, frame, is_nearest=is_nearest)
                if found is not None:
                    return found
                is_nearest = False
            frame = frame.f_back
        return False

    def _path(self, frame: FrameType) -> list[ast.AST]:
        """The nodes from the module down to what the frame is at; empty where its file cannot be read."""
        filename = frame.f_code.co_filename
        key = (frame.f_code, filename, frame.f_lasti)
        if key not in self._paths:
            tree = tree_of(filename)
            self._paths[key] = [] if tree is None else _path_in(tree, frame)
        return self._paths[key]


def _path_in(tree: ast.Module, frame: FrameType) -> list[ast.AST]:
    spot = place_of(frame)
    node = next((each for each in walk(tree) if isinstance(each, ast.expr) and is_at(each, spot)), None)
    return _as_called(path_at(tree, spot.row) if node is None else path_to(tree, node), frame.f_code.co_name)


def _as_called(path: list[ast.AST], function: str) -> list[ast.AST]:
    """The path without the blocks around a lambda that runs: they have been left, or are those of another call."""
    places = [place for place, node in enumerate(path) if isinstance(node, ast.Lambda)]
    if function != "<lambda>" or not places:
        return path
    outer = [node for node in path[: places[-1]] if not isinstance(node, (ast.With, ast.AsyncWith, *TRIES))]
    return [*outer, *path[places[-1] :]]


def _is_handled(path: list[ast.AST], error: type[BaseException], frame: FrameType, *, is_nearest: bool) -> bool | None:
    """None: the error leaves the function."""
    is_general = False

    def catches(kind: ast.expr) -> bool:
        nonlocal is_general
        found = [each for each in _classes(kind, frame) if issubclass(error, each)]
        is_general = is_general or any(each in _GENERAL for each in found)
        return bool(found)

    found = _treatment(path, catches)
    if found is None or found == "wanted":
        return None if found is None else True
    if found == "made good":
        return is_nearest or not is_general
    return not is_general and (found == "answered" or _is_suppressed(path, catches))


def _treatment(path: list[ast.AST], catches: Callable[[ast.expr], bool]) -> Treatment | None:
    call = path[-1] if path else None
    if isinstance(call, ast.Call):  # `assertRaises(TypeError, x.numpy)` is what runs
        for given in call.args[1:]:
            if treatment([*path, given], catches) == "wanted":
                return "wanted"
    return treatment(path, catches)


def _is_suppressed(path: list[ast.AST], catches: Callable[[ast.expr], bool]) -> bool:
    """True if a `with contextlib.suppress(...)` around the end of a path covers the error."""
    items = [item for node in path if isinstance(node, (ast.With, ast.AsyncWith)) for item in node.items]
    calls = [item.context_expr for item in items if isinstance(item.context_expr, ast.Call)]
    return any(last_name(call.func) == "suppress" and any(map(catches, call.args)) for call in calls)


def _classes(kind: ast.expr, frame: FrameType) -> list[type[BaseException]]:
    """The exception classes that an expression names; it is read and not evaluated."""
    if isinstance(kind, ast.Tuple):
        return [each for part in kind.elts for each in _classes(part, frame)]
    if isinstance(kind, ast.Name):
        names = (frame.f_locals, frame.f_globals, vars(builtins))
        value = next((each[kind.id] for each in names if kind.id in each), None)
    elif isinstance(kind, ast.Attribute) and isinstance(kind.value, ast.Name):
        owner = frame.f_globals.get(kind.value.id)
        value = vars(owner).get(kind.attr) if isinstance(owner, (type, type(sys))) else None
    else:
        return []
    found = value if isinstance(value, tuple) else (value,)
    return [each for each in found if isinstance(each, type) and issubclass(each, BaseException)]
