"""From a scope to what it binds to names, attributes of self and literal keys, by spelling alone."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import SCOPES, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.text.candidates import Scope


def keyed_in(scope: Scope) -> Iterator[tuple[str, ast.expr]]:
    """What a scope puts under literal keys."""
    for statement in statements_of(scope.body):
        if not isinstance(statement, SCOPES):
            yield from pairs_of_keys(statement)
            for part in own_expressions(statement):
                yield from (pair for node in walk(part) for pair in pairs_of_keys(node))


def pairs_of_keys(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """`{"bad": x}`, `dict(bad=x)`, `found["bad"] = x`."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(node, ast.Call) and last_name(node.func) == "dict":
        yield from ((each.arg, each.value) for each in node.keywords if each.arg is not None)
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                yield str(target.slice.value), node.value


def bound_in(scope: Scope) -> dict[str, list[ast.expr]]:
    """All that a scope binds to each name, attribute of self and item under a literal key, in the order of the text."""
    bound: dict[str, list[ast.expr]] = {}
    for statement in statements_of(scope.body):
        if isinstance(statement, ast.Assign):
            pairs = [pair for target in statement.targets for pair in _pairs(target, statement.value)]
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
            pairs = [(statement.target, statement.value)]
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            pairs = _pairs(statement.target, _each_of(statement.iter))
        else:
            pairs = []
        for part in own_expressions(statement):
            for node in walk(part):
                if isinstance(node, ast.comprehension):
                    pairs += _pairs(node.target, _each_of(node.iter))
        for target, value in pairs:
            if (place := place_of(target)) is not None:
                bound.setdefault(place, []).append(value)
    return bound


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Each name of an assignment with what it is bound to; with the whole value where its part is not written there."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return [(target, value)]
    parts: list[ast.expr] = list(value.elts) if isinstance(value, (ast.Tuple, ast.List)) else []
    if len(parts) != len(target.elts):
        parts = [ast.Subscript(value, ast.Constant(at), ast.Load()) for at in range(len(target.elts))]
    return [pair for each, part in zip(target.elts, parts, strict=True) for pair in _pairs(each, part)]


def _each_of(iterated: ast.expr) -> ast.expr:
    """What stands for an item: the items of what `zip` is given, or the iterable itself."""
    name = last_name(iterated.func) if isinstance(iterated, ast.Call) else None
    if isinstance(iterated, ast.Call) and name in ("zip", "enumerate"):
        numbers = [ast.Constant(0)] if name == "enumerate" else []
        return ast.Tuple([*numbers, *map(_each_of, iterated.args)], ast.Load())
    return iterated


def place_of(node: ast.expr) -> str | None:
    """`mask`, `self.mask`, `batch['mask']`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        owner = path_of(node.value)
        return None if owner is None else f"{owner}[{node.slice.value!r}]"
    return path_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
