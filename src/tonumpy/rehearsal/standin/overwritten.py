"""Arrays over pinned memory that an asynchronous copy overwrites -> where the text reads one before the host waits.

No one sees NumPy read its own memory. But the function that begins the copy is known, and which of its names hold such
an array: its next line that reads one of them is told, unless the host has waited when that line is reached.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin.texts import tree_of
from tonumpy.sinks.unfinished.views import is_waited_for
from tonumpy.text.syntax import FUNCTIONS, blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType


class Read(NamedTuple):
    """A line that reads an array, in a function that began a copy at another line."""

    code: CodeType
    begun: int
    row: int


def reads_after(host: Any) -> list[Read]:
    """Where the innermost code of the user's own goes on to read arrays over the memory of this tensor."""
    frame = _own_frame()
    if frame is None:
        return []
    first = host.untyped_storage().data_ptr()
    last = first + host.untyped_storage().nbytes()
    names = {name for name, value in list(frame.f_locals.items()) if _lies_in(value, first, last)}
    body = _body(frame.f_code) if names else None
    if body is None:
        return []
    begun = frame.f_lineno
    rows = [node.lineno for node in _loads(body) if node.id in names and node.lineno > begun]
    return [Read(frame.f_code, begun, min(rows))] if rows else []


def is_view() -> bool:
    """Whether the innermost code of the user's own waits for the copy before it reads the array that it makes now."""
    frame = _own_frame()
    body = None if frame is None else _body(frame.f_code)
    if frame is None or body is None:
        return False
    row, blocks = frame.f_lineno, [body.body]
    while blocks:
        block = blocks.pop()
        for at, statement in enumerate(block):
            if statement.lineno <= row <= (statement.end_lineno or row):
                if isinstance(statement, ast.Assign):
                    return is_waited_for(statement, block[at + 1 :])
                blocks += blocks_of(statement)
    return False


def has_passed(read: Read) -> bool:
    """Whether the function has gone on behind the line by now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not read.code:
        frame = frame.f_back
    return frame is None or not read.begun <= frame.f_lineno <= read.row


def _lies_in(value: object, first: int, last: int) -> bool:
    if type(value).__module__ != "numpy" or not hasattr(value, "__array_interface__"):
        return False
    return bool(first <= value.__array_interface__["data"][0] < last)


def _own_frame() -> FrameType | None:
    """The innermost one of the user's own code, however far it is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _body(code: CodeType) -> ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function, or the module, as its file has it."""
    tree = tree_of(code.co_filename)
    if tree is None or code.co_name == "<module>":
        return tree
    rows = range(code.co_firstlineno, code.co_firstlineno + 20)  # behind its decorators
    found = [each for each in ast.walk(tree) if isinstance(each, FUNCTIONS) and each.name == code.co_name]
    return next((each for each in found if each.lineno in rows), None)


def _loads(body: ast.AST) -> Iterator[ast.Name]:
    for child in ast.iter_child_nodes(body):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            yield child
        if not isinstance(child, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            yield from _loads(child)
