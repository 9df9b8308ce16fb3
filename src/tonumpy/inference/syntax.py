"""A node in; its child nodes, or all nodes below it, out: in the order of the text, and several times as fast as ast's.

Nodes that carry nothing of interest (contexts, operators, names of imports) are left out.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.deferred import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef)

_TEXTS = frozenset(
    "arg asname attr conversion ctx id is_async keywords_only kind kwd_attrs level lineno module n name names op ops"
    " rest s simple str tag type_comment type_ignores".split()
)
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    node: tuple(field for field in node._fields if field not in _TEXTS)
    for node in vars(ast).values()
    if isinstance(node, type) and issubclass(node, ast.AST)
}
_FIELDS[ast.Constant] = _FIELDS[ast.MatchSingleton] = ()
for deferred, plain in PLAIN.items():
    _FIELDS[deferred] = _FIELDS[plain]
if hasattr(ast, "TypeAlias"):
    _FIELDS[ast.TypeAlias] = ("name", "type_params", "value")


def children_of(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for field in _FIELDS[type(node)]:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found += value if None not in value else [item for item in value if item is not None]
        elif value is not None:
            found.append(value)
    return found


def walk(root: ast.AST) -> Iterator[ast.AST]:
    stack: list[ast.AST | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:  # the default of a keyword-only parameter that has none, the key of `**more` in a dict
            continue
        yield node
        for field in reversed(_FIELDS[type(node)]):
            value = getattr(node, field, None)
            if isinstance(value, list):
                stack.extend(reversed(value))
            elif value is not None:
                stack.append(value)
