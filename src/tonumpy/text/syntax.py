"""Walks over the nodes of a syntax tree in source order, several times as fast as `ast.walk`.

Skips nodes that are never needed (contexts, operators, names of imports).
"""

import ast
from collections.abc import Iterator
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef)
TRIES = (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)

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
if hasattr(ast, "TypeAlias"):
    _FIELDS[ast.TypeAlias] = ("name", "type_params", "value")

# The fields of a statement that contain statements, in the order in which these may run; and the rest.
_BLOCKS = ("body", "orelse", "handlers", "cases", "finalbody")
_BLOCK_FIELDS = {
    node: tuple(field for field in _BLOCKS if field in fields)
    for node, fields in _FIELDS.items()
    if issubclass(node, ast.stmt)
}
_OWN_FIELDS = {node: tuple(field for field in _FIELDS[node] if field not in _BLOCKS) for node in _BLOCK_FIELDS}


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
        if node is None:  # a keyword-only parameter without a default, or the key of `**more` in a dict
            continue
        yield node
        for field in reversed(_FIELDS[type(node)]):
            value = getattr(node, field, None)
            if isinstance(value, list):
                stack.extend(reversed(value))
            elif value is not None:
                stack.append(value)


def nodes_by_class(root: ast.AST, classes: tuple[type[ast.AST], ...]) -> dict[type[ast.AST], list[ast.AST]]:
    """The nodes of some classes, in no particular order, in half the time of `walk`."""
    found: dict[type[ast.AST], list[ast.AST]] = {each: [] for each in classes}
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if node is None:  # as in `walk`
            continue
        kind = node.__class__
        if kind in found:
            found[kind].append(node)
        for field in _FIELDS[kind]:
            value = getattr(node, field, None)
            if value.__class__ is list:
                stack += value
            elif value is not None:
                stack.append(value)
    return found


def indices_of(index: ast.expr) -> list[ast.expr]:
    """The index of each dimension: two for `rows[mask, 0]`."""
    return index.elts if isinstance(index, ast.Tuple) else [index]


def statements_of(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a scope, including those in its branches and loops, but not those of nested scopes."""
    stack = body[::-1]
    while stack:
        statement = stack.pop()
        yield statement
        if _BLOCK_FIELDS[type(statement)] and not isinstance(statement, SCOPES):
            for block in blocks_of(statement)[::-1]:
                stack += block[::-1]


def blocks_of(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The non-empty blocks of a statement, in the order in which they may run."""
    blocks = []
    for field in _BLOCK_FIELDS[type(statement)]:
        parts = getattr(statement, field)
        blocks += [part.body for part in parts] if field in ("handlers", "cases") else [parts]
    return [block for block in blocks if block]


def own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions of a statement, without those of nested statements."""
    for field in _OWN_FIELDS[type(statement)]:
        value = getattr(statement, field, None)
        if isinstance(value, ast.expr):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, ast.expr):
                    yield item
                elif isinstance(item, ast.withitem):
                    yield item.context_expr
                elif isinstance(item, ast.keyword):
                    yield item.value
        elif isinstance(value, ast.arguments):
            yield from (default for default in (*value.defaults, *value.kw_defaults) if default is not None)
