"""From a call of a function that pyproject.toml makes a promise about to the promised value.

A promise holds for the function by every name that it is imported by (engine/names/name_places.py). What the repository
defines is told by its place; what it does not show is a symbol by the name in the promise.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.interpreter.promises import keep
from tonumpy.engine.knowledge.libraries.rows import Promise
from tonumpy.engine.names.name_places import ends_with, place_of, places_imported, places_of_import, places_read
from tonumpy.engine.values.values import (
    Arguments,
    BoundMethod,
    Class,
    Function,
    Instance,
    ModuleValue,
    Symbol,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from typing import Any

    from tonumpy.engine.interpreter.frame import Frame
    from tonumpy.engine.names.bindings import Import
    from tonumpy.engine.names.module import Module
    from tonumpy.promises import OwnPromise

_CALLS = ("__call__", "forward")


class OwnPromises:
    """The promises of the settings of one file, by name and by the functions of the repository that they are about."""

    def __init__(self, module: Module) -> None:
        self._module = module  # the one that is looked at
        self._by_name = {row.function: _promise(row) for row in module.promises}
        self._by_last: dict[str, list[str]] = {}
        for row in self._by_name:
            self._by_last.setdefault(row.rpartition(".")[2], []).append(row)
        self._names: dict[str, str] | None = None

    def call_of_library(self, frame: Frame, name: str, owner: Value | None, arguments: Arguments) -> Value | None:
        """The result of a function that is not in sight."""
        promise = self._by_name.get(name) if self._by_name else None
        return None if promise is None else keep(frame, promise, owner, arguments)

    def call_of_repository(
        self, frame: Frame, function: Function | BoundMethod | Instance | Class, arguments: Arguments
    ) -> Value | None:
        """The result of a function or class of the repository, whatever its body says."""
        if not self._by_name:
            return None
        called: Function | Class | None
        owner: Value | None = None
        if isinstance(function, Instance):
            methods = (frame.analysis.classes.method(function.cls, name) for name in _CALLS)
            called, owner = next(filter(None, methods), None), function
        elif isinstance(function, BoundMethod):
            called, owner = function.function, function.receiver
        else:
            called = function
        promise = None if called is None else self._at(_place(called))
        if promise is None and isinstance(function, Instance):
            return self.call_of_method(frame, function, "__call__", arguments)
        return None if promise is None else keep(frame, promise, owner, arguments)

    def call_of_method(self, frame: Frame, owner: Instance, name: str, arguments: Arguments) -> Value | None:
        """The result of a method that no class of the repository defines: `setattr(Reader, "read", ...)`."""
        if not self._by_name:
            return None
        found = (self._at(_place(each, name)) for each in frame.analysis.classes.ancestors(owner.cls))
        promise = next(filter(None, found), None)
        return None if promise is None else keep(frame, promise, owner, arguments)

    def named(self, module: Module, name: str, found: Value | None) -> Value | None:
        """What a module binds to a name: `found`, unless a promise speaks of it and the code does not show it."""
        if not self._by_name or _is_in_sight(found):
            return found
        is_open = found is None or isinstance(found, Unknown)
        return self._symbol(places_read(name, module) if is_open else [place_of(module, name)], found)

    def imported(self, module: Module, imported: Import, found: Value) -> Value:
        """What an import binds that does not lead to a module of the repository."""
        if not self._by_name:
            return found
        if imported.binds_root:  # `import mylib._c`, which is compiled, binds `mylib`, which is not
            root = module.project.find(imported.full_name, module.folder)
            return found if root is None else ModuleValue(root)
        return self._symbol(places_of_import(imported, module), found) or found

    def _symbol(self, places: list[str], found: Value | None) -> Value | None:
        """The function of a promise, or what holds it, as an object that the code does not show."""
        is_open = found is None or isinstance(found, (Unknown, Symbol))
        for place in places:
            name = self._name_at(place)
            if name is not None and (is_open or name in self._by_name):
                return Symbol(name)
        return found

    def _at(self, place: str) -> Promise | None:
        name = self._name_at(place)
        return None if name is None else self._by_name.get(name)

    def _name_at(self, place: str) -> str | None:
        if self._names is None:
            self._names = self._named()
        rows = self._by_last.get(place.rpartition("/")[2], ())
        return self._names.get(place) or next((row for row in rows if ends_with(place, row)), None)

    def _named(self) -> dict[str, str]:
        """The names that symbols get, by the places of what promises speak of, and of what holds that."""
        names = {}
        for row in list(self._by_name):
            for place in places_imported(row, self._module):
                names[place] = row
                holder, name = place, ""
                while "/" in holder.strip("/"):
                    holder, _, last = holder.rpartition("/")
                    name = f".{last}{name}"
                    symbol = row.removesuffix(name) if row.endswith(name) else holder.strip("/").replace("/", ".")
                    self._by_name.setdefault(f"{symbol}{name}", self._by_name[row])
                    names.setdefault(holder, symbol)
        return names


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


def _place(definition: Function | Class, missing: str = "") -> str:
    """The place of a function, method or class, or of what a class lacks; empty for what is defined in a function."""
    node, owner = definition.node, definition.owner if isinstance(definition, Function) else None
    if isinstance(node, ast.Lambda) or definition.closure is not None:
        return ""
    name = "/".join(filter(None, (None if owner is None else owner.node.name, node.name, missing)))
    return place_of(definition.module, name)


def _is_in_sight(value: Value | None) -> bool:
    is_lambda = isinstance(value, Function) and isinstance(value.node, ast.Lambda)
    return isinstance(value, (Function, Class, BoundMethod, ModuleValue)) and not is_lambda
