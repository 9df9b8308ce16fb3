"""Where a list gets the tensors that are converted with it: from the list to its calls of `append`."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import path_of
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.text.candidates import OperationSite, ReturnSite, Site

_FILL = frozenset(("append", "appendleft", "insert"))


class Filling(NamedTuple):
    """The list's name; the calls that put a tensor into it, in the order of the text; another line that reads it.

    What is trained on needs its tensors: where something else reads the list, the items must not be converted.
    """

    name: str
    calls: tuple[ast.Call, ...]
    other_reader: int | None


def filling_of(site: Site | OperationSite | ReturnSite, given: ast.expr) -> Filling | None:
    """None where the list has no name, or nothing in sight puts anything in."""
    path = path_of(given)
    if path is None:
        return None
    is_attribute = "." in path
    scopes = (each for each in reversed(site.scopes) if isinstance(each, ast.ClassDef if is_attribute else FUNCTIONS))
    scope = next(scopes, site.scopes[0])
    calls = tuple(sorted(_calls(scope, path), key=lambda call: (call.lineno, call.col_offset)))
    if not calls:
        return None
    harmless = {id(call.func.value) for call in calls if isinstance(call.func, ast.Attribute)}
    harmless |= {id(given), *_measured(scope)}
    readers = (each.lineno for each in _reads(scope, path) if id(each) not in harmless)
    return Filling(path, calls, next(readers, None))


def _calls(scope: ast.AST, path: str) -> Iterator[ast.Call]:
    for node in ast.walk(scope):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in _FILL and path_of(node.func.value) == path:
            yield node


def _measured(scope: ast.AST) -> Iterator[int]:
    """`len(losses)`."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
            yield from map(id, node.args)


def _reads(scope: ast.AST, path: str) -> Iterator[ast.Name | ast.Attribute]:
    for node in ast.walk(scope):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and path_of(node) == path:
            yield node
