"""Which functions of a module numba compiles, by their decorators: each refuses what `numba.njit` or another makes.

An object of `@njit` takes arrays and numbers, and raises for every tensor; one of `@vectorize` converts as NumPy does.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import imports_among
from tonumpy.sinks.consumers import Consumer, consumer_of
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS, statements_of

if TYPE_CHECKING:
    from tonumpy.text.source import Source

_LIBRARY = "numba"
# With these Python itself runs what cannot be compiled.
_INTERPRETED = ("forceobj", "nopython")


def may_compile(source: Source) -> bool:
    return _LIBRARY in source.text


def compiled_in(source: Source) -> dict[str, Consumer]:
    """The functions of the module's own body, by name; none whose name is anything else anywhere in the module."""
    if not may_compile(source):
        return {}
    statements = list(statements_of(source.tree.body))
    imports = imports_among(statements)
    names = {name: each.full_name for name, each in imports if not each.level and _is_of_library(each.module)}
    found: dict[str, list[Consumer | None]] = {}
    for statement in statements:
        if isinstance(statement, FUNCTIONS):
            found.setdefault(statement.name, []).append(_made_of(statement.decorator_list, names))
    compiled = {name: each for name, (each, *others) in found.items() if each is not None and not others}
    if not compiled:
        return {}
    nodes = list(ast.walk(source.tree))
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {name: each for name, each in compiled.items() if name not in bound}


def _is_of_library(module: str) -> bool:
    return module.partition(".")[0] == _LIBRARY


def _made_of(decorators: list[ast.expr], names: dict[str, str]) -> Consumer | None:
    """What the outermost decorator makes, if it is numba's."""
    if not decorators:
        return None
    decorator = decorators[0]
    if isinstance(decorator, ast.Call):
        if any(keyword.arg in _INTERPRETED for keyword in decorator.keywords):
            return None
        decorator = decorator.func
    root, dot, rest = (path_of(decorator) or "").partition(".")
    return consumer_of(names[root] + dot + rest, "__call__") if root in names else None
