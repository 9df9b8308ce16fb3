"""From a statement to the module of which it sets all parameters to require grad or not, by its text alone."""

from __future__ import annotations

import ast

from tonumpy.engine.names.bindings import is_name, requires_grad_given
from tonumpy.text.syntax import statements_of

_PASSING_OVER = (ast.Continue, ast.Break, ast.Return)
OF_ALL_PARAMETERS = ("parameters", "named_parameters")


def all_set(statement: ast.stmt) -> tuple[ast.expr, list[ast.expr]] | None:
    """The module of which a statement sets all parameters, and what it sets their `requires_grad` to.

    `module.requires_grad_(False)`, or a loop over `module.parameters()`, or over all `module.modules()`, that does so.
    """
    if isinstance(statement, ast.Expr):
        method = statement.value.func if isinstance(statement.value, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr == "requires_grad_":
            return method.value, list(requires_grad_given(statement))
    if not isinstance(statement, (ast.For, ast.AsyncFor)) or not isinstance(statement.iter, ast.Call):
        return None
    source = statement.iter
    if not isinstance(source.func, ast.Attribute) or source.args or source.keywords:
        return None  # not those of its parts
    inner = list(statements_of(statement.body))
    if any(isinstance(each, _PASSING_OVER) for each in inner):
        return None
    if source.func.attr in OF_ALL_PARAMETERS:
        is_always_set = any(any(requires_grad_given(each)) for each in statement.body)
    else:
        name = getattr(statement.target, "id", None)
        parts = [found[0] for each in statement.body for found in [all_set(each)] if found is not None]
        is_always_set = source.func.attr == "modules" and any(is_name(part, name) for part in parts)
    given = [node for each in inner for node in requires_grad_given(each)]
    return (source.func.value, given) if is_always_set else None
