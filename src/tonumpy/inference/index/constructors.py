"""From a constructor to the attributes that hold a parameter as it was given."""

from __future__ import annotations

import ast
from collections import Counter

from tonumpy.inference.index.bindings import parameter_names
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.syntax import children_of, walk

if TYPE_CHECKING:
    from tonumpy.inference.index.bindings import FunctionNode

# Functions that change nothing in what they are given.
_ASKING = frozenset("isinstance hasattr getattr callable len type id str repr bool int float".split())


def stored_parameters(constructor: FunctionNode) -> dict[str, ast.Assign]:
    """The statement `self.tokenizer = tokenizer`, by attribute.

    Only if neither is bound again, passed on or changed: who is given a module may move it, and a list may be filled.
    """
    own, *parameters = parameter_names(constructor.args) or ("",)
    stored = {
        target.attr: (statement, statement.value.id)
        for statement in constructor.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name) and len(statement.targets) == 1
        for target in statement.targets
        if isinstance(target, ast.Attribute) and _path(target, own) and statement.value.id in parameters
    }
    used = _uses(constructor, own) if stored else Counter()
    return {
        attribute: statement
        for attribute, (statement, parameter) in stored.items()
        if used[parameter] == used[f"{own}.{attribute}"] == 1
    }


def _uses(constructor: FunctionNode, own: str) -> Counter[str]:
    """How often each name, and each attribute of the object, is bound, passed on or changed."""
    found: Counter[str] = Counter()
    for node in walk(constructor):
        for child in children_of(node):
            name = _path(child, own)
            if name is not None and not _only_looks(node, child):
                found[name] += 1
        changed = node.func if isinstance(node, ast.Call) else node
        if changed is node and isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        while isinstance(changed, (ast.Attribute, ast.Subscript)):
            changed = changed.value
            name = _path(changed, own)
            if name is not None:
                found[name] += 1
    return found


def _path(node: ast.AST, own: str) -> str | None:
    """`a` for a name, `self.a` for an attribute of the object."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
        return f"{own}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else None


def _only_looks(node: ast.AST, child: ast.AST) -> bool:
    if isinstance(node, (ast.Compare, ast.FormattedValue, ast.UnaryOp)):
        return True
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return node.value is child
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return node.test is child
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ASKING
