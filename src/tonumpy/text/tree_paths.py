"""The nodes of a syntax tree from the module down to a node."""

import ast
from bisect import bisect_right
from collections.abc import Iterator

from tonumpy.text.syntax import SCOPES, children_of

_STRINGS = (ast.JoinedStr, getattr(ast, "TemplateStr", ast.JoinedStr))  # before Python 3.12 places in them are wrong


def path_to(root: ast.AST, node: ast.AST) -> list[ast.AST]:
    """`root`, the nodes inside it that hold `node`, and `node` itself, the outermost first.

    Only `root` and `node` where `node` cannot be found by its place.
    """
    return [root] if root is node else [root, *(_below(root, node) or [node])]


def path_at(root: ast.AST, row: int) -> list[ast.AST]:
    """`root` and the nodes inside it that stand in a row, down to the first that shares the row with another."""
    path = [root]
    while True:
        inner = [child for child in _placed_children(path[-1]) if _spans_row(child, row)]
        if len(inner) != 1:
            return path
        path.append(inner[0])


def _below(parent: ast.AST, node: ast.AST) -> list[ast.AST] | None:
    for child in _children_near(parent, node):
        if child is node:
            return [child]
        if not _may_hold(child, node):
            continue
        found = _below(child, node)
        if found is not None:
            return [child, *found]
    return None


def _children_near(parent: ast.AST, node: ast.AST) -> Iterator[ast.AST]:
    """The children that may hold a node. A block has one, found by halves: a file may have thousands of functions."""
    blocks = [
        block for name in ("body", "orelse", "finalbody") if isinstance(block := getattr(parent, name, None), list)
    ]
    for block in blocks:
        at = bisect_right(block, _start(node), key=_start)
        if at:
            yield block[at - 1]
    if not isinstance(parent, ast.Module):
        yield from (child for child in children_of(parent) if not blocks or not isinstance(child, ast.stmt))


def _may_hold(outer: ast.AST, inner: ast.AST) -> bool:
    if not hasattr(outer, "lineno") or isinstance(outer, _STRINGS):
        return True
    return _start(outer) <= _start(inner) and _end(inner) <= _end(outer)


def _placed_children(node: ast.AST) -> Iterator[ast.AST]:
    for child in children_of(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _placed_children(child)


def _spans_row(node: ast.AST, row: int) -> bool:
    return _start(node)[0] <= row <= _end(node)[0]


def _start(node: ast.AST) -> tuple[int, int]:
    """The place where a node starts, with its decorators."""
    decorators = node.decorator_list if isinstance(node, SCOPES) else []
    first = decorators[0] if decorators else node
    return getattr(first, "lineno", 0), getattr(first, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", None) or 0, getattr(node, "end_col_offset", None) or 0
