"""Finds the path of nodes in a syntax tree from the module down to a node."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from tonumpy.text.syntax import SCOPES, children_of, walk


def path_to(root: ast.AST, node: ast.AST) -> list[ast.AST]:
    """`root`, the nodes inside it that contain `node`, and `node` itself, outermost first.

    Only `root` and `node` if `node` is not in the tree.
    """
    parents = _parents(root)
    path = [node]
    while path[-1] is not root:
        outer = parents.get(path[-1])
        if outer is None:
            return [root, node]
        path.append(outer)
    return path[::-1]


@lru_cache(maxsize=4)  # a tree is searched for many nodes
def _parents(root: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: node for node in walk(root) for child in children_of(node)}


def path_at(root: ast.AST, row: int) -> list[ast.AST]:
    """`root` and the nested nodes that contain a row, down to the last that is the only one in the row."""
    path = [root]
    while True:
        inner = [child for child in _placed_children(path[-1]) if _stands_in(child, row)]
        if len(inner) != 1:
            return path
        path.append(inner[0])


def _placed_children(node: ast.AST) -> Iterator[ast.AST]:
    for child in children_of(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _placed_children(child)


def _stands_in(node: ast.AST, row: int) -> bool:
    decorators = node.decorator_list if isinstance(node, SCOPES) else []
    first = decorators[0].lineno if decorators else getattr(node, "lineno", 0)
    return first <= row <= (getattr(node, "end_lineno", None) or 0)
