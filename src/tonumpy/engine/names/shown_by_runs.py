"""Tells what a notebook shows by keeping the outputs of its cells: which calls have been made, and have not raised."""

from __future__ import annotations

import ast
from collections.abc import Sequence as Items

from tonumpy.engine.names.module import Module
from tonumpy.engine.names.references import places_that_name, references_to
from tonumpy.text.candidates import spanning
from tonumpy.text.syntax import FUNCTIONS, walk

_LOOPS_AND_WITH = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.While)
# Where the parts of an expression stand that may not be evaluated with it.
_LATER_OR_NEVER = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.GeneratorExp)
_MAX_DEPTH = 3  # of functions that call each other


def has_been_made(module: Module, call: ast.Call, statement: ast.stmt, scopes: Items[ast.AST], depth: int = 0) -> bool:
    """True if a call in a notebook has been made: by each cell that leads to it, all of which ran to their end."""
    if not module.text.is_notebook or not any(module.source.cells_run):
        return False
    scope = scopes[-1]
    if not isinstance(scope, (ast.Module, *FUNCTIONS)) or not _is_unconditional(scope.body, statement, call):
        return False
    if isinstance(scope, ast.Module):
        return module.source.has_run(call.lineno)
    if len(scopes) != 2 or scope.decorator_list or depth == _MAX_DEPTH:
        return False
    if any(isinstance(each, (ast.Return, ast.Yield)) and each.lineno < statement.lineno for each in walk(scope)):
        return False
    found = references_to(module, scopes)
    by_cells = {each.call for each in found if not each.scopes[1:]}
    if not found or not by_cells <= module.derived_of(_made_by_cells, scope.name):
        return False
    return all(
        each.call is not None
        and not each.is_submitted
        and has_been_made(module, each.call, each.statement, each.scopes, depth + 1)
        for each in found
        if each.scopes[1:]
    )


def _made_by_cells(module: Module, name: str) -> frozenset[ast.Call]:
    """The calls of functions of a name that stand in no function and have been made: many cells may define one anew."""
    return frozenset(
        each.call
        for each in places_that_name(module, name)
        if each.call is not None
        and len(each.scopes) == 1
        and not each.is_submitted
        and has_been_made(module, each.call, each.statement, each.scopes)
    )


def _is_unconditional(body: list[ast.stmt], statement: ast.stmt, call: ast.Call) -> bool:
    """True if what runs a body runs a call in one of its statements, if only it finds something to go through."""
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
