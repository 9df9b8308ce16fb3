"""Finds the calls that may give a tensor to another library's function, where something may go wrong.

Two steps: the spelling alone (`places_spelt`) rules out most files, which then need no parse, and only ever lets too
much through; the tree says the rest. Only functions and classes are looked at that say something of grad or devices, or
that stand in one chain of calls with one that does: what is given away there may have been made here.
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_right

from tonumpy.inference.index.bindings import imports_of
from tonumpy.inference.knowledge.libraries.rows import gives_plain_values
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.places import places_spelt
from tonumpy.sinks.plain_names import PlainNames
from tonumpy.sinks.shapes import Names, given_away, may_convert
from tonumpy.sinks.trouble import Trouble
from tonumpy.text.candidates import find_calls
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import FUNCTIONS, SCOPES, statements_of

if TYPE_CHECKING:
    from tonumpy.text.candidates import Site
    from tonumpy.text.source import Source


def find_consumers(source: Source) -> list[Site]:
    trouble = Trouble(source)
    places = places_spelt(source.text) if trouble.begins else []
    if not places:
        return []
    names = _imported(source.tree)
    parts = _parts_in_trouble(source, trouble)
    rows = {source.position_at(place).row for place in places if _is_in(parts, place)}
    sites = find_calls(source, sorted(rows), lambda call: may_convert(call, names))
    imports = _plain_imports(source.tree) if sites else frozenset[str]()
    scopes: dict[ast.AST, PlainNames] = {}
    return [site for site in sites if not _is_given_plain_values(site, names, imports, scopes)]


def _is_given_plain_values(
    site: Site, names: Names, imports: frozenset[str], scopes: dict[ast.AST, PlainNames]
) -> bool:
    """Whether no tensor can get into the arguments; `scopes` keeps what is known of the names of each."""
    scope = site.scopes[-1]
    if scope not in scopes:
        scopes[scope] = PlainNames(scope, imports)
    try:
        return all(map(scopes[scope].is_plain, given_away(site.call, names)))
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return False


def _plain_imports(tree: ast.Module) -> frozenset[str]:
    """The names of imports from libraries that make no tensors."""
    return frozenset(
        name
        for statement in statements_of(tree.body)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for name, imported in imports_of(statement)
        if not imported.level and gives_plain_values(imported.module)
    )


def _imported(tree: ast.Module) -> Names:
    """What a module's own body imports of consumers, or of modules that hold them."""
    return {
        name: imported.module.partition(".")[0]
        if imported.binds_root
        else ".".join(filter(None, (imported.module, imported.name)))
        for statement in statements_of(tree.body)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for name, imported in imports_of(statement)
        if not imported.level and imported.module.partition(".")[0] in CONSUMERS
    }


def _parts_in_trouble(source: Source, trouble: Trouble) -> list[tuple[int, int]]:
    """From offset to offset, in order, the functions and classes of a module that say something of grad or devices,
    those that name one that does, and those that such a one names; the other statements count as one together."""
    body = source.tree.body
    parts: list[list[ast.stmt]] = [[each] for each in body if isinstance(each, SCOPES)]
    parts.append([each for each in body if not isinstance(each, SCOPES)])
    extents = [list(map(source.extent, part)) for part in parts]
    words = [frozenset(re.findall(r"\w+", " ".join(source.text[slice(*each)] for each in part))) for part in extents]
    own = [frozenset(name for each in part for name in _names_of(each)) for part in parts]
    named: dict[str, list[int]] = {}
    for number, names in enumerate(own):
        for name in names:
            named.setdefault(name, []).append(number)
    beside: list[set[int]] = [{other for word in each & named.keys() for other in named[word]} for each in words]
    for number, others in enumerate([*map(tuple, beside)]):
        for other in others:
            beside[other].add(number)
    known = {number for number, part in enumerate(parts) if any(map(trouble.is_in, part))}
    waiting = list(known)
    while waiting:
        reached = beside[waiting.pop()] - known
        known |= reached
        waiting += reached
    return sorted(extent for number in known for extent in extents[number])


def _names_of(statement: ast.stmt) -> frozenset[str]:
    """Those by which a function or a class is called, or a method of it; nothing for other code."""
    if not isinstance(statement, SCOPES):
        return frozenset()
    held = statement.body if isinstance(statement, ast.ClassDef) else ()
    methods = (each.name for each in held if isinstance(each, FUNCTIONS) and not each.name.startswith("__"))
    return frozenset((statement.name, *methods))


def _is_in(parts: list[tuple[int, int]], place: int) -> bool:
    """`parts` are in order, and apart from each other."""
    number = bisect_right(parts, (place, sys.maxsize)) - 1
    return number >= 0 and place < parts[number][1]
