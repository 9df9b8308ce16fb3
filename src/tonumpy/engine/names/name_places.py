"""From a dotted name to all places that it names: where it is imported from, handed on and, in the end, defined.

A place is a text: `/repository/mylib/io/load` for what a module of the repository binds or may be given at run time,
`mylib/load` for what is in no repository. It needs no module to be there: `mylib/_c` may be compiled.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import Import
from tonumpy.engine.names.project import path_of_module
from tonumpy.text.names import path_of
from tonumpy.text.syntax import SCOPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.engine.names.module import Module

MAX_PLACES = 32  # of one name: several imports may be tried, each of which leads on


def places_imported(dotted: str, module: Module) -> list[str]:
    """Those of a name by which it is imported in a module."""
    return _first(_absolute(dotted.split("."), module, set()))


def places_read(dotted: str, module: Module) -> list[str]:
    """Those of a name as the body and the functions of a module read it."""
    return _first(_within(module, dotted.split("."), set()))


def place_of(module: Module, name: str) -> str:
    return f"{path_of_module(module.filename)}/{name}".replace(os.sep, "/")


def ends_with(place: str, dotted: str) -> bool:
    """Whether a place is that of a name, as far as the name goes: the folders above may be on the path or not."""
    return f"/{place}".endswith(f"/{dotted.replace('.', '/')}")


def _first(places: Iterator[str]) -> list[str]:
    found = dict.fromkeys(place for place, _ in zip(places, range(MAX_PLACES), strict=False))
    return list(found)


def _absolute(parts: list[str], module: Module, seen: set[str]) -> Iterator[str]:
    for count in range(len(parts) - 1, 0, -1):
        holder = module.project.find(".".join(parts[:count]), module.folder)
        if holder is not None:
            yield from _within(holder, parts[count:], seen)
            return
    yield "/".join(parts)


def _within(module: Module, parts: list[str], seen: set[str]) -> Iterator[str]:
    """What `parts` of a module are: `["Reader", "read"]` of `mylib`."""
    first, rest = parts[0], parts[1:]
    bindings = _bindings(module, first)
    dot = "." if _is_object(bindings) else "/"
    place = dot.join((place_of(module, first), *rest))
    if place in seen:
        return
    seen.add(place)
    yield place
    inner = module.submodule(first) if rest and not bindings else None
    if inner is not None:
        yield from _within(inner, rest, seen)
        return
    for each in bindings or _handed_on(module, first):
        if isinstance(each, Import):
            yield from _imported(each, rest, module, seen)
        elif isinstance(each, str):
            yield from _within(module, [*each.split("."), *rest], seen)


def _is_object(bindings: list[ast.stmt | Import | str]) -> bool:
    """Whether a name is bound to what is neither imported nor defined: what it has is of an object, and no place."""
    return bool(bindings) and not any(isinstance(each, (Import, str, *SCOPES)) for each in bindings)


def _bindings(module: Module, name: str) -> list[ast.stmt | Import | str]:
    """What binds a name in a module, `load = _io.read` as the name `_io.read`."""
    within = module.names.imports_in_functions
    bindings = module.names.bindings.get(name) or ([within[name]] if name in within else [])
    return [each if isinstance(each, Import) else _alias(each, name) or each for each in bindings]


def _handed_on(module: Module, name: str) -> Iterator[Import]:
    """The imports that may bind a name which the module does not bind by itself: of a stub, as beside what is loaded
    lazily, and of all names."""
    stub = module.project.module_at(f"{module.filename}i")
    if stub is not None:
        yield from (each for each in stub.names.bindings.get(name, ()) if isinstance(each, Import))
    for star in module.names.bindings.get("*", ()):
        source = module.resolve(star) if isinstance(star, Import) else None
        if isinstance(star, Import) and (source is None or source.names.hands_out(name)):
            yield star._replace(name=name)


def _imported(imported: Import, rest: list[str], module: Module, seen: set[str]) -> Iterator[str]:
    if not imported.level:
        yield from _absolute([*imported.full_name.split("."), *rest], module, seen)
        return
    holder, inside = module.resolve(imported), [*filter(None, (imported.name,)), *rest]
    above = imported.module.split(".") if imported.module else []
    while holder is None and above:  # `._c` may be compiled: what is asked for is in it, and it in the package
        inside.insert(0, above.pop())
        holder = module.resolve(imported._replace(module=".".join(above)))
    if holder is None or not inside:
        return
    inner = holder.submodule(inside[0]) if holder.filename == module.filename and inside[1:] else None
    yield from _within(holder, inside, seen) if inner is None else _within(inner, inside[1:], seen)


def _alias(binding: ast.stmt, name: str) -> str | None:
    if not isinstance(binding, ast.Assign) or len(binding.targets) != 1 or not isinstance(binding.targets[0], ast.Name):
        return None
    path = path_of(binding.value)
    return None if path is None or path.partition(".")[0] == name else path


def places_of_import(imported: Import, module: Module) -> list[str]:
    """Those of what an import in a module binds."""
    return _first(_imported(imported, [], module, set()))
