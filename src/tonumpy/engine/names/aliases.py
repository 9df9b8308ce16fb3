"""From an expression to the names whose objects it gives on, whole or in part."""

from __future__ import annotations

import ast

from tonumpy.engine.names.bindings import (
    arguments_of,
    root_name,
)
from tonumpy.engine.names.torch_words import VIEWING

_LISTS = (ast.List, ast.Tuple)


def aliased(value: ast.expr | None) -> set[str]:
    """The names whose object, or a part of it, an expression may be or hold: `x` for `x`, `x[0]`, `[x]`."""
    if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        name = root_name(value)
        return set() if name is None else {name}
    if isinstance(value, ast.NamedExpr):
        return {value.target.id, *aliased(value.value)}
    if isinstance(value, ast.IfExp):
        return aliased(value.body) | aliased(value.orelse)
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in _GIVING_PARTS:
            return aliased(value.func.value)
        is_passing = isinstance(value.func, ast.Name) and value.func.id in _PASSING
        return {name for part in arguments_of(value) for name in aliased(part)} if is_passing else set()
    if isinstance(value, (ast.BoolOp, ast.Dict)):
        return {name for part in value.values for name in aliased(part)}
    return {name for part in value.elts for name in aliased(part)} if isinstance(value, _LISTS) else set()


# Methods of containers, and those of tensors that give a view or, where there is nothing to do, the tensor itself.
_GIVING_PARTS = VIEWING | frozenset("get items setdefault cpu float double contiguous to".split())


_PASSING = frozenset("enumerate iter list next reversed sorted tuple zip".split())


def _next_call(node: ast.expr) -> ast.Call | None:
    """The nearest call of a method further inside a chain."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred, ast.Await)):
        node = node.value
    return node if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
