"""The names that a module's body binds, and the functions that write its variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from tonumpy.engine.names.bindings import Import, imports_of
from tonumpy.engine.names.memo import Memo
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.findings import SourceError
from tonumpy.text.candidates import spans_any
from tonumpy.text.names import last_name, qualified_name
from tonumpy.text.source import Source
from tonumpy.text.syntax import SCOPES, statements_of

_INDENTED_IMPORT = r"\n[ \t]+(?:import|from)\s"
_GLOBAL = r"global\s"


def tree_of(source: Source) -> ast.Module:
    """The tree of a source; empty if it cannot be parsed, which the module's own check reports."""
    try:
        return source.tree
    except SourceError:
        return ast.Module([], [])


class Names:
    """The names of one module, each query computed once."""

    def __init__(self, source: Source, memo: Memo) -> None:
        self._source = source
        self._memo = memo

    @cached_property
    def _tree(self) -> ast.Module:
        return tree_of(self._source)

    @cached_property
    def bindings(self) -> dict[str, list[ast.stmt | Import]]:
        """The statements and imports in the module's own body that bind each name, in order; `*` holds star imports."""
        found: dict[str, list[ast.stmt | Import]] = {}
        meant = _meant_at_type_checking(self._tree.body)
        for statement in statements_of(self._tree.body):
            bound: list[tuple[str, ast.stmt | Import]] = []
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                bound += imports_of(statement)
            elif isinstance(statement, SCOPES):
                bound.append((statement.name, statement))
            else:
                bound += [(name, statement) for name in names_stored(statement)]
            for name, binding in bound:
                if name not in meant.get(id(statement), ()):
                    found.setdefault(name, []).append(binding)
        return found

    @property
    def imports_in_functions(self) -> dict[str, Import]:
        """The imports inside functions, by the name that they bind; the last one counts."""
        return self._memo.of(_imports_in_functions, _imports_in_functions, self._tree, self._source)

    @property
    def global_writers(self) -> dict[str, list[tuple[ast.AST, ...]]]:
        """The functions that declare a name global, by that name; each as its enclosing scopes and itself."""
        return self._memo.of(_global_writers, _global_writers, self._tree, self._source)

    @cached_property
    def unconditional(self) -> frozenset[int]:
        """The ids of the statements that run exactly once: neither in a branch nor in a loop."""
        return frozenset(map(id, self._tree.body))


def _imports_in_functions(tree: ast.Module, source: Source) -> dict[str, Import]:
    return {
        name: imported
        for statement in _all_statements(tree.body, source.rows_matching(_INDENTED_IMPORT))
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for name, imported in imports_of(statement)
    }


def _global_writers(tree: ast.Module, source: Source) -> dict[str, list[tuple[ast.AST, ...]]]:
    found: dict[str, list[tuple[ast.AST, ...]]] = {}
    _collect_global_writers((tree,), tree.body, source.rows_matching(_GLOBAL), found)
    return {name: sorted(writers, key=qualified_name) for name, writers in found.items()}


def _all_statements(body: list[ast.stmt], rows: list[int]) -> Iterator[ast.stmt]:
    """The statements of a body, and of its functions and classes that span one of the rows."""
    for statement in statements_of(body):
        yield statement
        if isinstance(statement, SCOPES) and spans_any(statement, rows):
            yield from _all_statements(statement.body, rows)


def _collect_global_writers(
    scopes: tuple[ast.AST, ...], body: list[ast.stmt], rows: list[int], found: dict[str, list[tuple[ast.AST, ...]]]
) -> None:
    for statement in statements_of(body) if rows else ():
        if isinstance(statement, ast.Global):
            for name in statement.names:
                found.setdefault(name, []).append(scopes)
        elif isinstance(statement, SCOPES) and spans_any(statement, rows):
            _collect_global_writers((*scopes, statement), statement.body, rows, found)


def _meant_at_type_checking(body: list[ast.stmt]) -> dict[int, frozenset[str]]:
    """The names that `if TYPE_CHECKING: import torch` imports, by the ids of the statements in its `else`, such as
    `torch = LazyModule("torch")`: the import tells what these bind."""
    found: dict[int, frozenset[str]] = {}
    for statement in body:
        if isinstance(statement, ast.If) and statement.orelse and last_name(statement.test) == "TYPE_CHECKING":
            imports = (each for each in statement.body if isinstance(each, (ast.Import, ast.ImportFrom)))
            names = frozenset(name for each in imports for name, _ in imports_of(each))
            found.update((id(each), names) for each in statements_of(statement.orelse))
    return found


def names_stored(statement: ast.stmt) -> list[str]:
    """The names that an assignment, a loop or a `with` binds, or that an annotation declares."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    return [each.target.id for each in stores_of(statement) if isinstance(each.target, ast.Name)]
