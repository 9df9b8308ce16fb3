"""From a name, or an attribute path, to its uses in a body: attribute reads, calls, subscripts."""

from __future__ import annotations

import ast
from enum import Enum
from functools import cached_property

from tonumpy.inference.index.bindings import path_of
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.syntax import SCOPES, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

_BY_SIZE = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


class Doing(Enum):
    """One kind of use."""

    READS = "an attribute of it, which is not called there and then"
    CALLS_METHOD = "a method of it"
    CALLS = "itself"
    COUNTS = "with it: an operand of arithmetic, or compared by size"
    TAKES_KEY = "an item of it, or sets it, by a text"
    ASKS_KIND = "a question: of what class it is, what attributes it has"


_ASKING = frozenset("isinstance hasattr getattr type is_tensor is_mapping".split())


class NameUses:
    """The uses of all names in one body, computed when first asked for; nested definitions see the same names."""

    def __init__(self, body: list[ast.stmt], *, is_function: bool) -> None:
        self._body = body
        self._is_function = is_function

    def of(self, path: str) -> set[tuple[Doing, str]]:
        """The uses of a path, each with the name of the attribute or method."""
        return self._found.get(path, set())

    @cached_property
    def _found(self) -> dict[str, set[tuple[Doing, str]]]:
        found: dict[str, set[tuple[Doing, str]]] = {}
        called: set[int] = set()  # the ids of what is called: a call stands around that
        for node in self._nodes():
            if isinstance(node, ast.Call):
                called.add(id(node.func))
            for used, doing, name in _uses_in(node, is_called=id(node) in called):
                path = path_of(used)
                if path is not None:
                    found.setdefault(path, set()).add((doing, name))
        return found

    def _nodes(self) -> Iterator[ast.AST]:
        for statement in statements_of(self._body):
            if not isinstance(statement, SCOPES):
                yield statement
                for expression in own_expressions(statement):
                    yield from walk(expression)
            elif self._is_function:
                yield from walk(statement)


def _uses_in(node: ast.AST, *, is_called: bool) -> Iterator[tuple[ast.expr, Doing, str]]:
    if isinstance(node, ast.Attribute):
        yield node.value, Doing.CALLS_METHOD if is_called else Doing.READS, node.attr
    elif isinstance(node, ast.Call):
        yield node.func, Doing.CALLS, ""
        if node.args and last_name(node.func) in _ASKING:
            yield node.args[0], Doing.ASKS_KIND, ""
    elif isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield node.value, Doing.TAKES_KEY, node.slice.value
    elif isinstance(node, ast.BinOp):
        yield from ((each, Doing.COUNTS, "") for each in (node.left, node.right))
    elif isinstance(node, ast.AugAssign):
        yield from ((each, Doing.COUNTS, "") for each in (node.target, node.value))
    elif isinstance(node, ast.Compare) and any(isinstance(each, _BY_SIZE) for each in node.ops):
        yield from ((each, Doing.COUNTS, "") for each in (node.left, *node.comparators))
