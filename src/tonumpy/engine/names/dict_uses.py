"""From a variable to whether it is a dict or like one, by the uses in its function, whatever its annotation says."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.methods import OF_DICTS_ALONE
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import SCOPES, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASKING = frozenset("isinstance hasattr getattr type is_tensor is_mapping".split())


class DictUses:
    """What only a dict supports, in one body, found when first asked for; nested definitions see the same names."""

    def __init__(self, body: list[ast.stmt], *, is_function: bool) -> None:
        self._body = body
        self._is_function = is_function
        self._names: frozenset[str] | None = None

    @property
    def names(self) -> frozenset[str]:
        """The names with such a use, in code without a test of their kind."""
        if self._names is None:
            self._names = self._found()
        return self._names

    def _found(self) -> frozenset[str]:
        used: set[str | None] = set()
        asked: set[str | None] = set()
        for node in self._nodes():
            if isinstance(node, ast.Subscript):
                used.add(_with_text_as_key(node))
            elif isinstance(node, ast.Call):
                used.add(_with_method_of_dicts(node))
                if node.args and last_name(node.func) in _ASKING:
                    asked.add(path_of(node.args[0]))
        return frozenset(name for name in used - asked if name)

    def _nodes(self) -> Iterator[ast.AST]:
        for statement in statements_of(self._body):
            if not isinstance(statement, SCOPES):
                for expression in own_expressions(statement):
                    yield from walk(expression)
            elif self._is_function:
                yield from walk(statement)


def _with_text_as_key(node: ast.Subscript) -> str | None:
    is_text = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    return path_of(node.value) if is_text else None


def _with_method_of_dicts(call: ast.Call) -> str | None:
    if isinstance(call.func, ast.Attribute) and call.func.attr in OF_DICTS_ALONE:
        return path_of(call.func.value)
    return None
