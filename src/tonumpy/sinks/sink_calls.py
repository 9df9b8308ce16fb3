"""From a source to the calls of sinks that a risk may reach.

Two steps: the spelling alone (`places_spelt`) rules out most files, which then need no parse, and only ever lets too
much through; then risks are followed in the tree (possible_tensors.py).
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import imports_among
from tonumpy.sinks.places import places_spelt
from tonumpy.sinks.possible_tensors import PossibleTensors
from tonumpy.sinks.shapes import (
    Names,
    given_away,
    is_consumer,
    may_convert,
)
from tonumpy.text.candidates import find_calls
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import statements_of

if TYPE_CHECKING:
    from tonumpy.text.candidates import Site
    from tonumpy.text.source import Source


def find_consumers(source: Source, risks: PossibleTensors | None = None) -> list[Site]:
    """The calls of sinks that a risk may reach, or a tensor where these are refused."""
    places = places_spelt(source.text)
    if not places:
        return []
    names, risks = imported(source), risks or PossibleTensors(source)
    rows = {source.position_at(each).row for each in places}
    sites = find_calls(source, sorted(rows), lambda call: may_convert(call, names))
    return [site for site in sites if _is_at_risk(site, names, risks)]


def _is_at_risk(site: Site, names: Names, risks: PossibleTensors) -> bool:
    try:
        return any(risks.reaches(each, site.scopes, at_risk=at_risk) for each, at_risk in given_away(site.call, names))
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return True


def imported(source: Source) -> Names:
    """Return what a module imports of consumers, or of modules that hold them, in its own body or in a function."""
    return {
        name: imported.full_name
        for name, imported in imports_among((*statements_of(source.tree.body), *_imports_within(source.text)))
        if not imported.level and is_consumer(imported.module, source.text)
    }


# A name that is imported in one function may be another's in the next: what is called tells them apart in the end.
_WITHIN = re.compile(r"^[ \t]+((?:import|from)[ \t]+(\w+)\b[^\n(\\;#]*)", re.MULTILINE)


def _imports_within(text: str) -> list[ast.stmt]:
    """The imports of consumers that stand in functions."""
    found: list[ast.stmt] = []
    for match in _WITHIN.finditer(text):
        if not is_consumer(match[2], text):
            continue
        try:
            found += ast.parse(match[1].strip()).body
        except SyntaxError:  # in a text: `import numpy as np, and so on`
            continue
    return found
