"""The promised results of functions that pyproject.toml has a promise about.
A promise holds for the function under every imported name (engine/names/own_names.py). A function that the repository
defines is matched by its place; any other is a symbol with the name in the promise.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import Any

from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.promises import keep
from tonumpy.engine.knowledge.libraries.rows import Promise
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.own_names import OwnNames
from tonumpy.engine.values import values as v
from tonumpy.own_functions import OwnPromise

_CALLS = ("__call__", "forward")


class OwnPromises:
    """The promises in the settings of one file, looked up by name or by definition."""

    def __init__(self, module: Module) -> None:
        self._module = module  # the one under check
        self._promises = {row.function: _promise(row) for row in module.promises}

    @cached_property
    def _names(self) -> OwnNames:
        names = OwnNames(self._promises, self._module)
        self._promises |= {other: self._promises[function] for other, function in names.synonyms.items()}
        return names

    def call_of_library(self, frame: Frame, name: str, owner: v.Value | None, arguments: v.Arguments) -> v.Value | None:
        """The promised result of a library's function; None if there is no promise."""
        promise = self._promises.get(name) if self._promises and self._names else None
        return None if promise is None else keep(frame, promise, owner, arguments)

    def call_of_repository(
        self, frame: Frame, function: v.Function | v.BoundMethod | v.Instance | v.Class, arguments: v.Arguments
    ) -> v.Value | None:
        """The promised result of a function or class of the repository, which replaces that of its body."""
        if not self._promises:
            return None
        if isinstance(function, v.Instance):
            called = (self.call_of_method(frame, function, name, arguments) for name in _CALLS)
            return next((each for each in called if each is not None), None)
        owner = function.receiver if isinstance(function, v.BoundMethod) else None
        definition = function.function if isinstance(function, v.BoundMethod) else function
        promise = self._at(definition)
        return None if promise is None else keep(frame, promise, owner, arguments)

    def call_of_method(self, frame: Frame, owner: v.Instance, name: str, arguments: v.Arguments) -> v.Value | None:
        """The promised result of a method of an object, whether or not a class defines it."""
        if not self._promises:
            return None
        found = (self._at(each, name) for each in frame.analysis.classes.ancestors(owner.cls))
        promise = next(filter(None, found), None)
        return None if promise is None else keep(frame, promise, owner, arguments)

    def named(self, module: Module, name: str, found: v.Value | None) -> v.Value | None:
        """The value of a module's name: `found`, or a symbol if a promise names it and no definition is found."""
        if not self._promises or _is_in_sight(found):
            return found
        full_name = self._names.at(module, name)
        is_open = found is None or isinstance(found, (v.Unknown, v.Symbol))
        return v.Symbol(full_name) if full_name is not None and (is_open or full_name in self._promises) else found

    def _at(self, definition: v.Function | v.Class, method: str = "") -> Promise | None:
        """The promise about a function, a class or a class's method; None for definitions in a function."""
        node, owner = definition.node, definition.owner if isinstance(definition, v.Function) else None
        if isinstance(node, ast.Lambda) or definition.closure is not None:
            return None
        name = ".".join(filter(None, (None if owner is None else owner.node.name, node.name, method)))
        full_name = self._names.at(definition.module, name)
        return None if full_name is None else self._promises.get(full_name)


def _promise(row: OwnPromise) -> Promise:
    said: dict[str, Any] = {"device": row.device, "grad": row.grad}
    return Promise(
        row.returns,
        **said,
        dtype=row.dtype,
        when=(),
        position=row.position,
        keyword=row.keyword,
        name=row.function,
        source=row.source or "pyproject.toml",
    )


def _is_in_sight(value: v.Value | None) -> bool:
    is_lambda = isinstance(value, v.Function) and isinstance(value.node, ast.Lambda)
    return isinstance(value, (v.Function, v.Class, v.BoundMethod, v.ModuleValue)) and not is_lambda
