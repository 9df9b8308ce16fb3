"""A refusal, and the stack at that moment -> whether the user's own code handles it, so that it must be raised there.

`except TypeError: x.cpu().numpy()` makes good what was refused; `pytest.raises(TypeError)` and `assertRaises` ask for
it, `suppress(TypeError)` leaves out what follows. A handler that logs, goes to the next one or raises again does none
of these: there the program goes on as if it were repaired, and what comes after is seen as well.
"""

from __future__ import annotations

import ast
import builtins
import sys
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin.texts import tree_of
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, walk

if TYPE_CHECKING:
    from types import CodeType, FrameType

_EXPECT = frozenset(
    "raises assertRaises assertRaisesRegex assert_raises assert_raises_regex raises_regex failUnlessRaises".split()
)
_CONVERT = frozenset("numpy asarray array tolist item cpu detach to cuda".split())
_GENERAL = (Exception, BaseException)


class _Guard(NamedTuple):
    """A `with` (no handlers) or a `try` around a line, in the function that the line is of."""

    contexts: tuple[ast.expr, ...]
    handlers: tuple[ast.ExceptHandler, ...]


class Handlers:
    """Reads each file once."""

    def __init__(self) -> None:
        self._trees: dict[str, ast.Module | None] = {}
        self._guards: dict[tuple[CodeType, str, int], tuple[_Guard, ...]] = {}

    def handle(self, error: type[BaseException]) -> bool:
        """Whether the code that called, or what called that, handles an error of this type."""
        frame: FrameType | None = sys._getframe(1)
        is_nearest = True
        while frame is not None:
            if is_own(frame.f_code.co_filename):
                for guard in self._around(frame):
                    found = _handled(guard, error, frame, is_nearest=is_nearest)
                    if found is not None:
                        return found
                is_nearest = False
            frame = frame.f_back
        return False

    def _around(self, frame: FrameType) -> tuple[_Guard, ...]:
        """The innermost first."""
        filename = frame.f_code.co_filename
        key = (frame.f_code, filename, frame.f_lineno)
        if key not in self._guards:
            if filename not in self._trees:
                self._trees[filename] = tree_of(filename)
            tree = self._trees[filename]
            self._guards[key] = () if tree is None else _guards(tree, frame.f_code.co_name, frame.f_lineno)
        return self._guards[key]


def _guards(tree: ast.Module, function: str, row: int) -> tuple[_Guard, ...]:
    path = [node for node in walk(tree) if _spans(node, row)]  # the outer ones first
    functions = [
        place
        for place, node in enumerate(path)
        if (isinstance(node, FUNCTIONS) and node.name == function)
        or (isinstance(node, ast.Lambda) and function == "<lambda>")
    ]
    found = []
    for node in path[functions[-1] if functions else 0 :]:
        if isinstance(node, (ast.With, ast.AsyncWith)):
            found.append(_Guard(tuple(item.context_expr for item in node.items), ()))
        elif isinstance(node, ast.Try) and any(_spans(each, row) for each in node.body):
            found.append(_Guard((), tuple(node.handlers)))
        elif isinstance(node, ast.Call) and last_name(node.func) in _EXPECT and len(node.args) > 1:
            found.append(_Guard((node,), ()))
    return tuple(found[::-1])


def _spans(node: ast.AST, row: int) -> bool:
    return getattr(node, "lineno", row + 1) <= row <= (getattr(node, "end_lineno", None) or 0)


def _handled(guard: _Guard, error: type[BaseException], frame: FrameType, *, is_nearest: bool) -> bool | None:
    """None: the error goes past it."""
    for context in guard.contexts:
        if isinstance(context, ast.Call) and context.args:
            function = last_name(context.func)
            if function in _EXPECT and _catches(context.args[0], error, frame):
                return True
            if function == "suppress":
                named = [each for each in context.args if _catches(each, error, frame)]
                if named:
                    return not all(_is_general(each, frame) for each in named)
    for handler in guard.handlers:
        if handler.type is None or _catches(handler.type, error, frame):
            is_general = handler.type is None or _is_general(handler.type, frame)
            return _makes_good(handler, is_general=is_general) and (is_nearest or not is_general)
    return None


def _makes_good(handler: ast.ExceptHandler, *, is_general: bool) -> bool:
    nodes = [node for statement in handler.body for node in walk(statement)]
    if any(isinstance(node, ast.Raise) for node in nodes):
        return False
    called = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    return not called.isdisjoint({"numpy"} if is_general else _CONVERT)


def _catches(kind: ast.expr, error: type[BaseException], frame: FrameType) -> bool:
    return any(issubclass(error, each) for each in _classes(kind, frame))


def _is_general(kind: ast.expr, frame: FrameType) -> bool:
    return any(each in _GENERAL for each in _classes(kind, frame))


def _classes(kind: ast.expr, frame: FrameType) -> list[type[BaseException]]:
    """What an expression names, which is read and not evaluated."""
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
