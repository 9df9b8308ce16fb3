"""From a source to the calls that may give a tensor to a sink, where something may go wrong.

Two steps: the spelling alone (`places_spelt`) rules out most files, which then need no parse, and only ever lets too
much through; the tree says the rest. Only functions and classes with a risky token (risk_scan.py), or connected to one
by call edges, are looked at: what is given away there may have been made here. A call that raises for every tensor is
looked at wherever it stands.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property

from tonumpy.inference.index.bindings import imports_among, parameters_of, path_of
from tonumpy.inference.index.project import is_of_library
from tonumpy.inference.index.syntax_lowering import stores_of
from tonumpy.inference.knowledge.libraries.rows import gives_plain_values
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.non_tensor_names import NonTensorNames
from tonumpy.sinks.places import places_spelt
from tonumpy.sinks.risk_scan import RiskScan
from tonumpy.sinks.shapes import (
    Names,
    consumer_named,
    given_away,
    is_bridged,
    may_convert,
    refuses_every_tensor,
)
from tonumpy.text.candidates import find_calls
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import SCOPES, statements_of

if TYPE_CHECKING:
    from tonumpy.text.candidates import Scope, Site
    from tonumpy.text.source import Source


def find_consumers(source: Source, risks: RiskScan | None = None) -> list[Site]:
    """The calls of sinks that may be given a tensor, where a risk is near."""
    risks = risks or RiskScan(source)
    places = places_spelt(source.text) if risks.begins else []
    if not places:
        return []
    names = imported(source)
    rows = {source.position_at(each.offset).row for each in places if each.refuses or risks.is_near(each.offset)}

    def is_wanted(call: ast.Call) -> bool:
        is_near = risks.is_near(source.offset(source.node_start(call)))
        return (is_near or refuses_every_tensor(call, names)) and may_convert(call, names)

    others, plain = _OtherLibraries(source, names), PlainValues(source, names)
    sites = find_calls(source, sorted(rows), is_wanted)
    return [site for site in sites if not others.have(site) and not plain.are_all_given(site)]


class PlainValues:
    """What no tensor can get into, by the names of each scope of a source."""

    def __init__(self, source: Source, names: Names) -> None:
        self._source = source
        self._names = names
        self._scopes: dict[ast.AST, NonTensorNames] = {}

    @cached_property
    def _imports(self) -> frozenset[str]:
        return _plain_imports(self._source.tree)

    def are_all_given(self, site: Site) -> bool:
        """Whether all that a call gives away is such."""
        scope = site.scopes[-1]
        if scope not in self._scopes:
            self._scopes[scope] = NonTensorNames(scope, self._imports)
        try:
            return all(map(self._scopes[scope].is_plain, given_away(site.call, self._names)))
        except RecursionError:  # a chain of hundreds of calls
            note_cut()
            return False


class _OtherLibraries:
    """What a module imports of well-known libraries, from the names of which a call looks like that of a consumer's
    method: `random.choice(x)`, which `numpy.random.Generator` has too."""

    def __init__(self, source: Source, consumers: Names) -> None:
        self._source = source
        self._consumers = consumers
        self._bound: dict[ast.AST, frozenset[str]] = {}

    def have(self, site: Site) -> bool:
        """Whether it is certainly one of them that is called, and one that converts nothing."""
        root, dot, rest = (path_of(site.call.func) or "").partition(".")
        full = self._imports.get(root) if dot and root not in self._consumers else None
        if full is None or consumer_named(full + dot + rest) is not None:
            return False
        return not any(root in self._names_bound(scope) for scope in site.scopes)

    @cached_property
    def _imports(self) -> Names:
        """What is not bound by an import of anything else as well."""
        found: dict[str, set[str]] = {}
        for name, each in imports_among(statements_of(self._source.tree.body)):
            is_known = not each.level and is_of_library(each.module.partition(".")[0])
            found.setdefault(name, set()).add(each.full_name if is_known else "")
        return {name: full for name, (full, *others) in found.items() if full and not others}

    def _names_bound(self, scope: Scope) -> frozenset[str]:
        """Those that a scope binds, but for the imports of a module."""
        if scope not in self._bound:
            names = set(parameters_of(scope))
            for statement in statements_of(scope.body):
                stores = stores_of(statement)
                if isinstance(scope, ast.Module):
                    stores = [each for each in stores if each.how != "imported"]
                names.update(each.root for each in stores)
                if isinstance(statement, SCOPES):
                    names.add(statement.name)
                elif isinstance(statement, (ast.Global, ast.Nonlocal)):
                    names.update(statement.names)
            self._bound[scope] = frozenset(names)
        return self._bound[scope]


def _plain_imports(tree: ast.Module) -> frozenset[str]:
    """The names of imports from libraries that make no tensors."""
    return frozenset(
        name
        for name, imported in imports_among(statements_of(tree.body))
        if not imported.level and gives_plain_values(imported.module)
    )


def imported(source: Source) -> Names:
    """What a module imports of consumers, or of modules that hold them, in its own body or in a function."""
    return {
        name: imported.full_name
        for name, imported in imports_among((*statements_of(source.tree.body), *imports_within(source.text, _WITHIN)))
        if not imported.level and imported.module.partition(".")[0] in CONSUMERS
        if not is_bridged(imported.module, source.text)
    }


# A name that is imported in one function may be another's in the next: what is called tells them apart in the end.
_WITHIN = re.compile(r"^[ \t]+((?:import|from)[ \t]+(\w+)\b[^\n(\\;#]*)", re.MULTILINE)


def imports_within(text: str, pattern: re.Pattern[str]) -> list[ast.stmt]:
    """The statements in the first groups of what a pattern finds in a text."""
    found: list[ast.stmt] = []
    for match in pattern.finditer(text):
        if pattern is _WITHIN and match[2] not in CONSUMERS:
            continue
        try:
            found += ast.parse(match[1].strip()).body
        except SyntaxError:  # in a text: `import numpy as np, and so on`
            continue
    return found
