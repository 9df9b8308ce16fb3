"""From a converted list to the places that fill it: its calls of `append`, or its literal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tonumpy.text.candidates import OperationSite, ReturnSite, Site
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS

_FILL = frozenset(("append", "appendleft", "insert"))


class Filling(NamedTuple):
    """The list's name; what puts a tensor into it, in the order of the text: calls, and the items of a literal or a
    comprehension; another line that reads it.

    What is trained on needs its tensors: where something else reads the list, the items must not be converted.
    """

    name: str
    places: tuple[ast.expr, ...]
    other_reader: int | None


def filling_of(site: Site | OperationSite | ReturnSite, given: ast.expr) -> Filling | None:
    """Return what fills a list; None where the list has no name, or nothing in sight fills it."""
    path = _path_of(given)
    if path is None:
        return None
    is_attribute = "." in path.partition("[")[0]
    scopes = (each for each in reversed(site.scopes) if isinstance(each, ast.ClassDef if is_attribute else FUNCTIONS))
    scope = next(scopes, site.scopes[0])
    calls, bound = list(_calls(scope, path)), list(_bound(scope, path))
    found = [*calls, *(item for value in bound for item in _items(value))]
    places = tuple(sorted(found, key=lambda each: (each.lineno, each.col_offset)))
    if not places:
        return None
    harmless = {id(call.func.value) for call in calls if isinstance(call.func, ast.Attribute)}
    harmless |= {id(given), *_measured(scope)}
    readers = (each.lineno for each in _reads(scope, path) if id(each) not in harmless)
    return Filling(path, places, next(readers, None))


def _path_of(node: ast.expr) -> str | None:
    """`self.losses`, or `logs['loss']` under a constant key."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        holder = path_of(node.value)
        return None if holder is None else f"{holder}[{node.slice.value!r}]"
    return path_of(node)


def _calls(scope: ast.AST, path: str) -> Iterator[ast.Call]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and is_filling(node, path):
            yield node


def is_filling(call: ast.Call, path: str) -> bool:
    """`losses.append(loss)`."""
    return isinstance(call.func, ast.Attribute) and call.func.attr in _FILL and _path_of(call.func.value) == path


def _bound(scope: ast.AST, path: str) -> Iterator[ast.expr]:
    """Return what is assigned to it."""
    for node in ast.walk(scope):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        if any(
            _path_of(target) == path for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        ):
            yield node.value


def _items(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, (ast.List, ast.Tuple)):
        return value.elts
    return [value.elt] if isinstance(value, (ast.ListComp, ast.GeneratorExp)) else []


def _measured(scope: ast.AST) -> Iterator[int]:
    """`len(losses)`."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
            yield from map(id, node.args)


def _reads(scope: ast.AST, path: str) -> Iterator[ast.Name | ast.Attribute | ast.Subscript]:
    for node in ast.walk(scope):
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) or not isinstance(node.ctx, ast.Load):
            continue
        if _path_of(node) == path:
            yield node
