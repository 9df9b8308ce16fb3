"""Lowers statements to stores: the targets and values of each form of Python's syntax.

Nested statements are not included, nor stores in expressions: `(x := v)`. New syntax is added here, in `_FORMS`. Code
that needs the order of execution (the interpreter and detectors/flow.py) walks the tree instead. Statements without a
value (`del x`, `import x`, `except E as x`) store nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tonumpy.engine.names.bindings import registered, set_by_call
from tonumpy.text.syntax import statements_of, walk


class Store(NamedTuple):
    """A target (name, attribute or item) and its value: the value itself, the iterable or tuple that it is taken from,
    or the context manager."""

    target: ast.expr
    value: ast.expr


def stores_of(statement: ast.stmt) -> list[Store]:
    """The stores of a statement, without those inside its expressions: `(x := v)`."""
    form = _FORMS.get(type(statement))
    given = form(statement) if form is not None else ()
    return [store for target, value in given for store in _stores(target, value)]


def stored_in(body: list[ast.stmt], name: str) -> list[ast.expr]:
    """The values that the statements of a scope store in a name."""
    stores = (store for statement in statements_of(body) for store in stores_of(statement))
    return [store.value for store in stores if isinstance(store.target, ast.Name) and store.target.id == name]


def stored_in_attributes(tree: ast.AST, name: str) -> list[ast.expr]:
    """The values that assignments anywhere in a tree store in attributes of this name, of any object."""
    assignments = (node for node in walk(tree) if isinstance(node, (ast.Assign, ast.AnnAssign)))
    stores = (store for node in assignments for store in stores_of(node))
    return [store.value for store in stores if isinstance(store.target, ast.Attribute) and store.target.attr == name]


def _stores(target: ast.expr, value: ast.expr) -> Iterator[Store]:
    if isinstance(target, ast.Starred):
        yield from _stores(target.value, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part, each in zip(target.elts, _parts(value, len(target.elts)), strict=True):
            yield from _stores(part, each)
    else:
        yield Store(target, value)


def _parts(value: ast.expr, number: int) -> list[ast.expr]:
    """The elements of a tuple or list of `number` items without a star; else the whole value for each target."""
    if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != number:
        return [value] * number
    return [value] * number if any(isinstance(each, ast.Starred) for each in value.elts) else value.elts


def _called(statement: ast.Expr) -> list[tuple[ast.expr, ast.expr]]:
    """The stores of `self.register_buffer("mean", x)` and `setattr(self, "mean", x)`."""
    call = statement.value
    member = (registered(call) or set_by_call(call)) if isinstance(call, ast.Call) else None
    return [] if member is None else [member]


def _captured(statement: ast.Match) -> list[tuple[ast.expr, ast.expr]]:
    nodes = (node for case in statement.cases for node in walk(case.pattern))
    names = ((getattr(node, field, None), node) for node in nodes for field in ("name", "rest"))
    return [(ast.copy_location(ast.Name(name, ast.Store()), node), statement.subject) for name, node in names if name]


# The targets and values, by the class of a statement; each function takes that class, which a dict's type cannot
# express.
_FORMS: dict[type[ast.stmt], Callable[[Any], list[tuple[ast.expr, ast.expr]]]] = {
    ast.Assign: lambda each: [(target, each.value) for target in each.targets],
    ast.AnnAssign: lambda each: [] if each.value is None else [(each.target, each.value)],
    ast.AugAssign: lambda each: [(each.target, each.value)],
    ast.Expr: _called,
    **dict.fromkeys((ast.For, ast.AsyncFor), lambda each: [(each.target, each.iter)]),
    **dict.fromkeys(
        (ast.With, ast.AsyncWith),
        lambda each: [(item.optional_vars, item.context_expr) for item in each.items if item.optional_vars],
    ),
    ast.Match: _captured,
}
