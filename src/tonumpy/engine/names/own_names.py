"""The functions that the settings speak of, by where modules of the repository bind them, under whatever names.

A function is followed from import to import, up to where it is defined; no module needs to define it, since it may be
compiled or registered at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import Import

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tonumpy.engine.names.module import Module

_MAX_IMPORTS = 8  # from the name that a module reads to where it is defined


class OwnNames:
    """The full names in the settings of one file, and the places where the repository binds what they name."""

    def __init__(self, functions: Iterable[str], module: Module) -> None:
        self._functions = frozenset(functions)
        self._places: dict[tuple[str, str], str] = {}
        for function in self._functions:
            parts = function.split(".")
            for holder, inner in _from_package(module, parts):
                self._places[holder.filename, ".".join(inner)] = function
                for count in range(1, len(inner)):  # what has the function may be as little in sight
                    outer = ".".join(parts[: count - len(inner)])
                    self._places.setdefault((holder.filename, ".".join(inner[:count])), outer)

    def at(self, module: Module, name: str) -> str | None:
        """Return the full name of what a module binds, `load` or `Reader.read`, or of what holds a function that the
        settings name; None where they do not speak of it."""
        return self._places.get((module.filename, name))

    def meant(self, module: Module, path: str) -> str | None:
        """Return the function of the settings that a module calls by a path, such as `viz.show`."""
        imported = module.names.bindings.get(path.partition(".")[0]) or _within_functions(module, path)
        named = [each for each in imported if isinstance(each, Import) and not each.level]
        full = [".".join((each.full_name, *path.split(".")[1:])) for each in named]
        places = (self.at(*place) for place in _followed(module, path.split(".")))
        found = (each for each in (*full, *places) if each in self._functions)
        return next(found, None)


def _from_package(module: Module, parts: list[str]) -> Iterator[tuple[Module, list[str]]]:
    """Yield where the repository binds a function by its full name."""
    for count in range(len(parts) - 1, 0, -1):
        holder = module.project.find(".".join(parts[:count]), module.folder)
        if holder is not None:
            for place, name in _followed(holder, parts[count:]):
                yield place, name.split(".")
            return


def _followed(module: Module, parts: list[str]) -> Iterator[tuple[Module, str]]:
    """Yield the module that binds a name, and those that it is imported from in turn, with what it is there."""
    for _ in range(_MAX_IMPORTS):
        yield module, ".".join(parts)
        first, *rest = parts
        bound = module.names.bindings.get(first) or _within_functions(module, first)
        imported = next((each for each in bound if isinstance(each, Import)), None)
        if imported is None and not bound:
            stars = (each for each in module.names.bindings.get("*", ()) if isinstance(each, Import))
            imported = next((each._replace(name=first) for each in stars), None)
        if imported is None:
            inner, parts = module.submodule(first) if rest else None, rest
        elif imported.level:
            inner, parts = module.resolve(imported), [*filter(None, (imported.name,)), *rest]
        else:
            found = _from_package(module, [*imported.full_name.split("."), *rest])
            inner, parts = next(found, (None, []))
        if inner is None or not parts:
            return
        module = inner


def _within_functions(module: Module, path: str) -> list[Import]:
    imported = module.names.imports_in_functions.get(path.partition(".")[0])
    return [] if imported is None else [imported]
