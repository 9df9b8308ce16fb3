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
# What is no array, and is found very often.
_REDUCED = frozenset("max mean min sum item tolist".split())


class Arrays(NamedTuple):
    """The spelling of arrays: variables and attributes that are given some anywhere, and what NumPy is called."""

    names: frozenset[str]
    attributes: frozenset[str]
    modules: frozenset[str]


class Nodes:
    """The nodes of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def of(self, *classes: type[ast.AST]) -> list[Any]:
        """Return the nodes of some classes."""
        return [node for each in classes for node in self._by_class[each]]

    @cached_property
    def _by_class(self) -> dict[type[ast.AST], list[ast.AST]]:
        return nodes_by_class(self._source.tree, (*_CLASSES, *_STATEMENTS))

    @cached_property
    def given(self) -> dict[str, list[ast.expr]]:
        """What assignments give names and attributes, by the last part of these."""
        found: dict[str, list[ast.expr]] = {}
        for statement in self.of(ast.Assign, ast.AnnAssign):
            for store in stores_of(statement):
                found.setdefault(last_name(store.target) or "", []).append(store.value)
        return found

    @cached_property
    def imported(self) -> Names:
        """What the module imports of consumers, or of modules that hold them, anywhere. A name that is imported in one
        function may be another's in the next: what is called tells them apart in the end."""
        bound = (each for statement in self.of(ast.Import, ast.ImportFrom) for each in imports_of(statement))
        return {
            name: imported.full_name
            for name, imported in bound
            if not imported.level and is_consumer(imported.module, self._source.text)
        }

    @cached_property
    def arrays(self) -> Arrays:
        """The names that are given what a line makes by NumPy or `.numpy()`, or that are annotated as arrays."""
        source = self._source
        modules = {
            name
            for statement in self.of(ast.Import)
            for name, imported in imports_of(statement)
            if imported.full_name == "numpy"
        }
        rows = {row for word in (CANDIDATE, *(f"{each}." for each in modules)) for row in source.rows_with(word)}
        annotated = set(source.rows_with("ndarray"))  # a search of the whole text takes far longer
        names = {name for row in annotated for name in _ANNOTATED.findall(source.line(row))}
        attributes = set[str]()
        for statement in self.of(ast.Assign, ast.AnnAssign) if rows else ():
            value = statement.value
            is_made = value is not None and not rows.isdisjoint(range(statement.lineno, value.end_lineno + 1))
            if not is_made or (isinstance(value, ast.Call) and last_name(value.func) in _REDUCED):
                continue
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                if isinstance(target, ast.Name):
                    names.add(target.id)
                elif isinstance(target, ast.Attribute):
                    attributes.add(target.attr)
        return Arrays(frozenset(names), frozenset(attributes), frozenset(modules))
