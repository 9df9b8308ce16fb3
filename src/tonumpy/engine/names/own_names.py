"""The functions named in the settings, resolved to the modules of the repository that bind them, by any name.
A name is followed through imports to its definition; none is needed, since the function may be compiled or registered
at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tonumpy.engine.names.bindings import Import
from tonumpy.engine.names.module import Module
from tonumpy.text.names import path_of

Place = tuple[Module, str]  # a module, and a name in it: `load`, `Reader.read`

_MAX_STEPS = 8  # from the name that a module reads to where it is defined


class OwnNames:
    """The full names in the settings of one file, and the places where the repository binds these functions."""

    def __init__(self, functions: Iterable[str], module: Module) -> None:
        self._functions = frozenset(functions)
        self._places: dict[tuple[str, str], str] = {}
        self._known: dict[tuple[str, str], str | None] = {}
        self.synonyms: dict[str, str] = {}  # the functions by other full names that their packages give them
        for function in self._functions:
            places = list(_from_package(module, function.split(".")))
            package = function[: -len(places[0][1]) - 1] if places else ""
            for holder, name in places:
                self._places[holder.filename, name] = function
                if holder is places[0][0]:
                    self.synonyms[f"{package}.{name}"] = function
                for count in range(1, name.count(".") + 1):  # its class may be defined outside the repository too
                    outer = name.rsplit(".", count)[0]
                    self._places.setdefault((holder.filename, outer), f"{package}.{outer}")

    def at(self, module: Module, name: str) -> str | None:
        """The full name of a function in the settings, or of its class, that a module binds as `load` or `Reader.read`;
        None if the settings name neither."""
        key = module.filename, name
        if key not in self._known:
            places = _followed(module, name.split("."))
            found = (self._places.get((holder.filename, inner)) for holder, inner in places)
            self._known[key] = next((each for each in found if each is not None), None)
        return self._known[key]

    def meant(self, module: Module, path: str) -> str | None:
        """The function in the settings that a module calls by a path such as `viz.show`."""
        root, *rest = path.split(".")
        named = (each for each in _imports(module, root) if not each.level)
        full = (".".join((each.full_name, *rest)) for each in named)
        found = (self.synonyms.get(each, each) for each in (*full, self.at(module, path) or ""))
        return next((each for each in found if each in self._functions), None)


def _from_package(module: Module, parts: list[str]) -> Iterator[Place]:
    """Yield the places where the repository binds a function, given its full name."""
    for count in range(len(parts) - 1, 0, -1):
        holder = module.project.find(".".join(parts[:count]), module.folder)
        if holder is not None:
            yield from _followed(holder, parts[count:])
            return


def _followed(module: Module, parts: list[str]) -> Iterator[Place]:
    """Yield the module that binds a name, and in turn each module that it is imported from, with its name there."""
    for _ in range(_MAX_STEPS):
        yield module, ".".join(parts)
        found = _next(module, parts)
        if found is None:
            return
        module, parts = found


def _next(module: Module, parts: list[str]) -> tuple[Module, list[str]] | None:
    first, *rest = parts
    imported = next(iter(_imports(module, first)), None)
    if imported is None:
        alias = next(filter(None, (_alias(each, first) for each in module.names.bindings.get(first, ()))), None)
        if alias is not None:
            return module, [*alias.split("."), *rest]
        inner = module.submodule(first) if rest else None
        return None if inner is None else (inner, rest)
    if not imported.level:
        place = next(_from_package(module, [*imported.full_name.split("."), *rest]), None)
        return None if place is None else (place[0], place[1].split("."))
    holder, inside = module.resolve(imported), [*filter(None, (imported.name,)), *rest]
    above = imported.module.split(".") if imported.module else []
    while holder is None and above:  # `._c` may be a compiled module of the package
        inside.insert(0, above.pop())
        holder = module.resolve(imported._replace(module=".".join(above)))
    return None if holder is None or not inside else (holder, inside)


def _imports(module: Module, name: str) -> list[Import]:
    """The imports that may bind a name: in the body, in a function, in a stub beside the module, or by `*`."""
    bound, within = module.names.bindings.get(name, ()), module.names.imports_in_functions
    found = [each for each in (*bound, *([within[name]] if name in within else [])) if isinstance(each, Import)]
    if found or bound:
        return found
    stub = module.project.module_at(f"{module.filename}i")
    listed = () if stub is None else stub.names.bindings.get(name, ())
    stars = (each for each in module.names.bindings.get("*", ()) if isinstance(each, Import))
    return [*(each for each in listed if isinstance(each, Import)), *(each._replace(name=name) for each in stars)]


def _alias(binding: ast.stmt | Import, name: str) -> str | None:
    """The path `_io.read` in `load = _io.read`."""
    match binding:
        case ast.Assign([ast.Name()], value):
            path = path_of(value)
            return None if path is None or path.partition(".")[0] == name else path
    return None
