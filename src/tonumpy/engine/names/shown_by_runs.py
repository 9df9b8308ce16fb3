"""Calls in a notebook that have run without an error, as the stored outputs of its cells show."""

from __future__ import annotations

import ast
from collections.abc import Sequence as Items

from tonumpy.engine.names.module import Module
from tonumpy.text.candidates import spanning
from tonumpy.text.syntax import walk

_LOOPS_AND_WITH = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.While)
# Expressions whose parts may not be evaluated with them.
_LATER_OR_NEVER = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.GeneratorExp)


def has_been_made(module: Module, call: ast.Call, statement: ast.stmt, scopes: Items[ast.AST]) -> bool:
    """True if a call at the top level of a notebook has been made: its cell ran to its end."""
    scope = scopes[-1]
    if not isinstance(scope, ast.Module) or not module.source.has_run(call.lineno):
        return False
    return _is_unconditional(scope.body, statement, call)


def _is_unconditional(body: list[ast.stmt], statement: ast.stmt, call: ast.Call) -> bool:
    """True if running a body always makes a call in one of its statements, provided that its loops are not empty."""
    for each in spanning(body, [statement.lineno]):
        if each is statement:
            return not any(isinstance(node, _LATER_OR_NEVER) and _spans(node, call) for node in walk(each))
        is_added = isinstance(each, ast.If) and isinstance(each.test, ast.Constant) and each.test.value
        inner = each.body if is_added or isinstance(each, _LOOPS_AND_WITH) else []  # type: ignore[attr-defined]
        if _is_unconditional(inner, statement, call):
            return True
    return False


def _spans(outer: ast.expr, inner: ast.expr) -> bool:
    starts = (outer.lineno, outer.col_offset) <= (inner.lineno, inner.col_offset)
    ends = (inner.end_lineno or 0, inner.end_col_offset or 0) <= (outer.end_lineno or 0, outer.end_col_offset or 0)
    return starts and ends
