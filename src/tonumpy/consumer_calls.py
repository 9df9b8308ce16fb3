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

from tonumpy.candidates import find_calls
from tonumpy.consumer_places import TROUBLE_BEGINS, places_spelt
from tonumpy.consumer_shapes import Names, may_convert
from tonumpy.harmless import Harmless
from tonumpy.inference.dependencies import flow_of_node, reachable
from tonumpy.inference.libraries import gives_plain_values
from tonumpy.inference.symbols import arguments_of, bindings_of, bound_names, imports_of, names_in, names_read
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.prefilter import CONSUMERS, TROUBLE
from tonumpy.syntax import FUNCTIONS, SCOPES, own_expressions, statements_of

if TYPE_CHECKING:
    from tonumpy.candidates import Scope, Site
    from tonumpy.source import Source


def find_consumers(source: Source) -> list[Site]:
    places = places_spelt(source.text)
    if not places:
        return []
    names = _imported(source.tree)
    parts = _parts_in_trouble(source)
    rows = {source.position_at(place).row for place in places if _is_in(parts, place)}
    sites = find_calls(source, sorted(rows), lambda call: may_convert(call, names))
    if not sites:
        return []
    imports = _harmless_imports(source.tree)
    scopes: dict[ast.AST, Harmless] = {}
    sites = [site for site in sites if not _is_harmless(site, source, imports, scopes)]  # far cheaper, so it goes first
    known: dict[ast.AST, set[str]] = {}
    return [site for site in sites if _is_in_trouble(site, source, known)]


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


def _parts_in_trouble(source: Source) -> list[tuple[int, int]]:
    """The functions and classes, from offset to offset, that say something of grad or devices; other code together."""
    definitions: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for statement in source.tree.body:
        is_definition = isinstance(statement, SCOPES)
        (definitions if is_definition else others).append(source.extent(statement))
    found = [place for place in definitions if _speaks_of_trouble(source, place)]
    return sorted(found + others if any(_speaks_of_trouble(source, place) for place in others) else found)


def _is_in(parts: list[tuple[int, int]], place: int) -> bool:
    """`parts` are in order, and apart from each other."""
    number = bisect_right(parts, (place, sys.maxsize)) - 1
    return number >= 0 and place < parts[number][1]


def _is_in_trouble(site: Site, source: Source, known: dict[ast.AST, set[str]]) -> bool:
    """Whether something is said of grad or devices where the arguments come from.

    `known` keeps for each function, and each class, the names that depend on what its statements say of such things.
    """
    given = {name for value in (*site.call.args, *site.call.keywords) for name in names_in(value)}
    for scope in reversed(site.scopes[-2:]):
        if isinstance(scope, ast.ClassDef) and not any(name.startswith("self.") for name in given):
            continue
        if scope not in known:
            known[scope] = _names_in_trouble(scope, source)
        if not known[scope].isdisjoint(given):
            return True
    return any(_speaks(source, value) for value in arguments_of(site.call))


def _is_harmless(
    site: Site, source: Source, imports: tuple[frozenset[str], frozenset[str]], scopes: dict[ast.AST, Harmless]
) -> bool:
    """Whether nothing that can raise gets into the arguments; `scopes` keeps what is known of the names of each."""
    scope = site.scopes[-1]
    if scope not in scopes:
        scopes[scope] = Harmless(scope, *imports, lambda node: _speaks(source, node))
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


def _speaks(source: Source, node: ast.stmt | ast.expr) -> bool:
    return TROUBLE_BEGINS.search(source.text, *source.extent(node)) is not None


def _names_in_trouble(scope: Scope, source: Source) -> set[str]:
    """Of a function or module its variables, of a class the attributes that its methods give to `self`."""
    if not isinstance(scope, ast.Module) and not _speaks(source, scope):
        return set()
    if isinstance(scope, ast.ClassDef):
        methods = [each for each in scope.body if isinstance(each, FUNCTIONS)]
        return {name for method in methods for name in _names_in_trouble(method, source) if name.startswith("self.")}
    said = {
        name
        for statement in statements_of(scope.body)
        if _speaks(source, statement) and any(_speaks(source, each) for each in own_expressions(statement))
        for name in _names_concerned(statement)
    }
    if not said:
        return said
    flow = flow_of_node(scope)
    said = {name for name in said if name in flow.times_bound or "." in name}  # no imports
    dependents: dict[str, set[str]] = {}
    for name, sources in flow.sources.items():
        for each in sources:
            dependents.setdefault(each, set()).add(name)
    return reachable(said, dependents)


def _names_concerned(statement: ast.stmt) -> set[str]:
    """The names that a statement binds; of any other all that are in it, without the statements inside it."""
    bound = {name for targets, _ in bindings_of(statement) for target in targets for name in bound_names(target)}
    return bound or names_read(statement)


def _speaks_of_trouble(source: Source, place: tuple[int, int]) -> bool:
    return any(map(source.text[slice(*place)].__contains__, TROUBLE))
