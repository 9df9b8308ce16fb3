"""The nodes of a source that may convert or mix, kept by their class: one walk finds those of all rules."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import Any, NamedTuple

from tonumpy.detectors.shapes import Names, is_consumer
from tonumpy.engine.names.bindings import imports_of
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.text.names import last_name
from tonumpy.text.prefilter import CANDIDATE
from tonumpy.text.source import Source
from tonumpy.text.syntax import nodes_by_class

_CLASSES = (ast.Call, ast.Compare, ast.Subscript, ast.SetComp, ast.BinOp)
_STATEMENTS = (ast.AugAssign, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)
_ANNOTATED = re.compile(r"(\w+)[ \t]*:[ \t\"']*(?:Optional\[)?(?:\w+\.)?ndarray")
# Methods whose result is no array, and that are very frequent.
_REDUCED = frozenset("max mean min sum item tolist".split())


class Arrays(NamedTuple):
    """The names of arrays: variables and attributes that are assigned arrays anywhere, and the names of NumPy."""

    names: frozenset[str]
    attributes: frozenset[str]
    modules: frozenset[str]


class Nodes:
    """The nodes of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def of(self, *classes: type[ast.AST]) -> list[Any]:
        """The nodes of some classes."""
        return [node for each in classes for node in self._by_class[each]]

    @cached_property
    def _by_class(self) -> dict[type[ast.AST], list[ast.AST]]:
        return nodes_by_class(self._source.tree, (*_CLASSES, *_STATEMENTS))

    @cached_property
    def given(self) -> dict[str, list[ast.expr]]:
        """The values that assignments store in names and attributes, by the last part of the target."""
        found: dict[str, list[ast.expr]] = {}
        for statement in self.of(ast.Assign, ast.AnnAssign):
            for store in stores_of(statement):
                found.setdefault(last_name(store.target) or "", []).append(store.value)
        return found

    @cached_property
    def imported(self) -> Names:
        """The full names of consumers, or of their modules, that the module imports anywhere, by local name. A local
        name may differ between functions: the called value decides later."""
        bound = (each for statement in self.of(ast.Import, ast.ImportFrom) for each in imports_of(statement))
        return {
            name: imported.full_name
            for name, imported in bound
            if not imported.level and is_consumer(imported.module, self._source.text)
        }

    @cached_property
    def arrays(self) -> Arrays:
        """The names that are assigned on a line with a call of NumPy or `.numpy()`, or annotated as arrays."""
        source = self._source
        imported = (pair for statement in self.of(ast.Import) for pair in imports_of(statement))
        modules = {name for name, each in imported if each.full_name == "numpy"}
        rows = {row for word in (CANDIDATE, *(f"{each}." for each in modules)) for row in source.rows_with(word)}
        annotated = map(source.line, set(source.rows_with("ndarray")))  # searching the whole text takes far longer
        names = {name for line in annotated for name in _ANNOTATED.findall(line)}
        assigned = self.of(ast.Assign, ast.AnnAssign) if rows else ()
        targets = [target for each in assigned if _makes_array(each, rows) for target in _targets(each)]
        names.update(each.id for each in targets if isinstance(each, ast.Name))
        attributes = frozenset(each.attr for each in targets if isinstance(each, ast.Attribute))
        return Arrays(frozenset(names), attributes, frozenset(modules))


def _makes_array(statement: ast.Assign | ast.AnnAssign, rows: set[int]) -> bool:
    """True if an assignment is in one of the rows, and its value is not reduced to a number."""
    value = statement.value
    if value is None or rows.isdisjoint(range(statement.lineno, (value.end_lineno or 0) + 1)):
        return False
    return not (isinstance(value, ast.Call) and last_name(value.func) in _REDUCED)


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]
