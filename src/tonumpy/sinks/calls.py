"""A source in; the calls that may give a tensor to another library's function, where something may go wrong, out.

Two steps: the spelling alone (`consumer_places`) rules out most files, which then need no parse, and only ever lets too
much through; the tree says the rest. Only calls are looked at whose arguments depend on what their function says of
grad or devices: to work out the others costs as much as all the rest of a run, and what would be found is next to
nothing.
"""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right

from tonumpy.inference.index.bindings import arguments_of, imports_of
from tonumpy.inference.knowledge.libraries.rows import gives_plain_values
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.harmless import Harmless
from tonumpy.sinks.names_in_trouble import NamesInTrouble
from tonumpy.sinks.places import places_spelt
from tonumpy.sinks.shapes import Names, may_convert
from tonumpy.sinks.trouble import Trouble
from tonumpy.text.candidates import find_calls
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.syntax import SCOPES, statements_of

if TYPE_CHECKING:
    from tonumpy.text.candidates import Site
    from tonumpy.text.source import Source


def find_consumers(source: Source) -> list[Site]:
    trouble = Trouble(source)
    places = places_spelt(source.text, trouble)
    if not places:
        return []
    names = _imported(source.tree)
    parts = _parts_in_trouble(source, trouble)
    rows = {source.position_at(place).row for place in places if _is_in(parts, place)}
    sites = find_calls(source, sorted(rows), lambda call: may_convert(call, names))
    if not sites:
        return []
    imports = _harmless_imports(source.tree)
    scopes: dict[ast.AST, Harmless] = {}
    # What is far cheaper goes first.
    sites = [site for site in sites if not _is_harmless(site, trouble, imports, scopes)]
    return list(filter(NamesInTrouble(trouble).are_given, sites))


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
    """The functions and classes, from offset to offset, that say something of grad or devices; other code together."""
    definitions = [each for each in source.tree.body if isinstance(each, SCOPES)]
    others = [each for each in source.tree.body if not isinstance(each, SCOPES)]
    found = [each for each in definitions if trouble.is_in(each)]
    return sorted(map(source.extent, found + others if any(map(trouble.is_in, others)) else found))


def _is_in(parts: list[tuple[int, int]], place: int) -> bool:
    """`parts` are in order, and apart from each other."""
    number = bisect_right(parts, (place, sys.maxsize)) - 1
    return number >= 0 and place < parts[number][1]


def _is_harmless(
    site: Site, trouble: Trouble, imports: tuple[frozenset[str], frozenset[str]], scopes: dict[ast.AST, Harmless]
) -> bool:
    """Whether nothing that can raise gets into the arguments; `scopes` keeps what is known of the names of each."""
    scope = site.scopes[-1]
    if scope not in scopes:
        scopes[scope] = Harmless(scope, *imports, trouble.is_in)
    try:
        return all(scopes[scope].is_harmless(argument) for argument in arguments_of(site.call))
    except RecursionError:  # a chain of hundreds of calls
        return False


def _harmless_imports(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """The names of imports from libraries that make no tensors, and of those from torch."""
    plain, torch = set(), set()
    for statement in statements_of(tree.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name, imported in imports_of(statement):
                if not imported.level and gives_plain_values(imported.module):
                    plain.add(name)
                elif not imported.level and imported.module.partition(".")[0] == "torch":
                    torch.add(name)
    return frozenset(plain), frozenset(torch)
