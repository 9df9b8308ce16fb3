"""The errors that code around a candidate catches, and makes good by converting in another way.

`try: x.numpy()` / `except (RuntimeError, TypeError): x.detach().cpu().numpy()`. What the handler converts is a
candidate of its own.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from typing import TYPE_CHECKING

from tonumpy.text.names import last_name
from tonumpy.text.syntax import blocks_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.text.candidates import Candidate, OperationSite, ReturnSite, Site

OF_GRAD = "RuntimeError"  # Can't call numpy() on Tensor that requires grad
OF_DEVICE = "TypeError"  # can't convert cuda:0 device type tensor to numpy
_OF_ALL = frozenset(("Exception", "BaseException"))


def errors_caught(candidate: Candidate) -> frozenset[str]:
    """`OF_GRAD`, `OF_DEVICE`, both or neither."""
    found: set[str] = set()
    for around, block in statements_around(candidate):
        if isinstance(around, ast.Try) and block is around.body:
            found |= _errors_made_good(around.handlers)
    return frozenset(found)


def statements_around(candidate: Candidate) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
    """The statements of its function that hold that of a candidate, each with the block of it that does."""
    block = candidate.scopes[-1].body
    while block:
        around = _holding(block, candidate.statement)
        if around is None or around is candidate.statement:
            break
        block = next((inner for inner in _blocks_near(around, candidate) if _holding(inner, candidate.statement)), [])
        yield around, block


def _blocks_near(around: ast.stmt, candidate: Candidate) -> list[list[ast.stmt]]:
    """Of the cases of a `match`, and of the handlers of a `try`, only the last that begins no later."""
    if isinstance(around, ast.Match):
        at = bisect_right(around.cases, _start(candidate.statement), key=lambda case: _start(case.pattern))
        return [around.cases[at - 1].body] if at else []
    if isinstance(around, ast.Try) and len(around.handlers) > 1:
        at = bisect_right(around.handlers, _start(candidate.statement), key=_start)
        return [around.body, *([around.handlers[at - 1].body] if at else []), around.orelse, around.finalbody]
    return blocks_of(around)


def is_shown_to_raise(place: Candidate | OperationSite | ReturnSite | Site) -> bool:
    """Whether a call stands in a lambda that a loop calls only where every error is caught: `for job in (lambda: ...,)`
    with `try: job()` and `except Exception`. Such code means to see what raises."""
    loop = place.statement
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return False
    items = loop.iter.elts if isinstance(loop.iter, (ast.Tuple, ast.List)) else []
    if not any(isinstance(item, ast.Lambda) and any(node is place.call for node in walk(item)) for item in items):
        return False
    caught = [inner for each in loop.body if isinstance(each, ast.Try) and _catches_all(each) for inner in each.body]
    used = [_times_named(loop.target.id, each) for each in (*loop.body, *loop.orelse)]
    return sum(used) == sum(_times_named(loop.target.id, each) for each in caught) > 0


def _catches_all(statement: ast.Try) -> bool:
    return any({OF_GRAD, OF_DEVICE} <= _errors_of(handler) for handler in statement.handlers)


def _times_named(name: str, node: ast.AST) -> int:
    return sum(isinstance(each, ast.Name) and each.id == name for each in walk(node))


def _holding(block: list[ast.stmt], inner: ast.stmt) -> ast.stmt | None:
    """The statement of a block that another one is, or stands in: the last that begins no later."""
    at = bisect_right(block, _start(inner), key=_start)
    outer = block[at - 1] if at else None
    return outer if outer is not None and _end(inner) <= _end(outer) else None


def _start(statement: ast.stmt | ast.ExceptHandler | ast.pattern) -> tuple[int, int]:
    return statement.lineno, statement.col_offset


def _end(statement: ast.stmt) -> tuple[int, int]:
    assert statement.end_lineno is not None
    assert statement.end_col_offset is not None
    return statement.end_lineno, statement.end_col_offset


def _errors_made_good(handlers: list[ast.ExceptHandler]) -> set[str]:
    found: set[str] = set()
    waiting = {OF_GRAD, OF_DEVICE}
    for handler in handlers:
        caught = waiting & _errors_of(handler)
        waiting -= caught
        if any(isinstance(node, ast.Call) and last_name(node.func) == "numpy" for node in walk(handler)):
            found |= caught
    return found


def _errors_of(handler: ast.ExceptHandler) -> set[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {last_name(kind) for kind in kinds if kind is not None}
    if handler.type is None or not names.isdisjoint(_OF_ALL):
        return {OF_GRAD, OF_DEVICE}
    return {name for name in names if name is not None}
