"""From the files of a run to the promises and own sinks in the settings that speak of nothing in them."""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from tonumpy.boundary.paths import real_path
from tonumpy.engine.names.bindings import Import
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.name_places import ends_with, places_imported, places_read
from tonumpy.engine.names.project import Project
from tonumpy.findings import SourceError
from tonumpy.frontends.disk import read
from tonumpy.text.names import path_of
from tonumpy.text.sources import source_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tonumpy.config import Configuration


def unused_rows(paths: Sequence[str], files: Sequence[str], configuration: Configuration) -> Iterator[str]:
    """A warning for each row of `[[tool.tonumpy.promises]]` and `sinks` whose function no file imports, reads or calls.

    `paths` are those that were named: only of settings whose whole folder is among them something is told.
    """
    governed: dict[str, list[str]] = {}
    for file in files:
        origin = configuration.governed(os.path.dirname(file))[1]
        if origin is not None:
            governed.setdefault(origin, []).append(file)
    for origin, own in sorted(governed.items()):
        settings = configuration.settings_in(os.path.dirname(own[0]))
        named = [("promises", row.function) for row in settings.promises]
        named += [("sinks", row.function) for row in settings.sinks]
        if named and _covers(paths, os.path.dirname(os.path.abspath(origin))):
            yield from _told(origin, named, _used(frozenset(name for _, name in named), own))


def _told(origin: str, named: Sequence[tuple[str, str]], used: Collection[str]) -> Iterator[str]:
    text = _text_of(origin)
    for key, name in dict.fromkeys(named):
        if name not in used:
            told = f"[tool.tonumpy] {key}: `{name}` is unused: no file of this run imports, reads or calls it"
            yield f"{os.path.relpath(origin)}{_row(text, name)}: {told}"


def _covers(paths: Sequence[str], folder: str) -> bool:
    here = os.path.join(real_path(folder), "")
    return any(os.path.isdir(path) and here.startswith(os.path.join(real_path(path), "")) for path in paths)


def _text_of(origin: str) -> str:
    try:
        return read(origin).decode(errors="replace")
    except SourceError:
        return ""


def _row(text: str, name: str) -> str:
    """The row of the name; nothing if that is a file which this one extends."""
    found = re.search(rf"""["']{re.escape(name)}["']""", text)
    return "" if found is None else f":{text.count(chr(10), 0, found.start()) + 1}"


def _used(names: frozenset[str], files: Sequence[str]) -> set[str]:
    """The names that some file names; `mylib.Reader.read` too if one names `mylib.Reader`, and one has `.read`."""
    holders = {name: name.rpartition(".")[0] for name in names if _is_of_class(name)}
    attributes = {name: re.compile(rf"\.\s*{name.rpartition('.')[2]}\b".encode()) for name in holders}
    left, has_attribute = _searched(files, {*names, *holders.values()}, attributes)
    of_objects = {name for name, holder in holders.items() if holder not in left}
    return ({*names} - left) | {name for name in of_objects if name in has_attribute or name.endswith("__")}


def _searched(
    files: Sequence[str], names: set[str], attributes: Mapping[str, re.Pattern[bytes]]
) -> tuple[set[str], set[str]]:
    """The names that no file names, and those whose pattern some file has."""
    left, has_attribute, project = {*names}, set[str](), Project()
    for file in files:
        if not left:
            break
        try:
            data = read(file)
            has_attribute.update(name for name, pattern in attributes.items() if pattern.search(data))
            near = [name for name in left if _may_name(data, file, name)]
            left.difference_update(_named_in(Module(source_of(data, file), project), near) if near else ())
        except (SourceError, RecursionError):
            continue  # its own check tells of it
    return left, has_attribute


def _is_of_class(name: str) -> bool:
    module, _, holder = name.rpartition(".")[0].rpartition(".")
    return bool(module) and holder[:1].isupper()


def _may_name(data: bytes, file: str, name: str) -> bool:
    """By its last word, in a file that names its package or lies in it."""
    root, _, rest = name.partition(".")
    return rest.rpartition(".")[2].encode() in data and (root.encode() in data or root in os.path.abspath(file))


def _named_in(module: Module, names: Sequence[str]) -> list[str]:
    places = {place for path in _paths_in(module) for place in places_read(path, module)}
    meant = {name: {*places_imported(name, module)} for name in names}
    return [name for name in names if places & meant[name] or any(ends_with(place, name) for place in places)]


def _paths_in(module: Module) -> set[str]:
    """The dotted names that the code reads or imports: those of its own definitions only where it reads them."""
    bindings, within = module.names.bindings, module.names.imports_in_functions
    imported = {name for name, bound in bindings.items() if any(isinstance(each, Import) for each in bound)}
    is_open = "*" in bindings
    bound = bindings.keys() | within.keys()
    read_here = {path for path in _paths_read(module.tree) if is_open or path.partition(".")[0] in bound}
    return {*imported, *within, *read_here}


def _paths_read(tree: ast.Module) -> set[str]:
    nodes = (node for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute)))
    return {path_of(node) or "" for node in nodes if isinstance(node.ctx, ast.Load)}
