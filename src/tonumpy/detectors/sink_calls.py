"""Finds the calls of sinks that a tensor at risk may reach: first by name, then by possible flow."""

from __future__ import annotations

import ast
from functools import cache

from tonumpy.detectors.consumers import library_of
from tonumpy.detectors.possible_tensors import PossibleTensors
from tonumpy.detectors.shapes import Names, given_away, may_convert, roots_of
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import last_name
from tonumpy.text.recursion import note_cut
from tonumpy.text.source import Source


def find_consumers(source: Source, risks: PossibleTensors) -> list[Site]:
    """The calls of sinks that a tensor at risk may reach, or any tensor if all are refused."""
    names = risks.nodes.imported
    roots = roots_of(names)
    words = _words_of(frozenset(roots))
    has_callables = any(library_of(root).makes_callables for root in roots)
    wanted = {
        id(call): call.lineno
        for call in risks.nodes.of(ast.Call)
        if has_callables or (word := last_name(call.func)) in words or word in names
        if may_convert(call, names)
    }
    sites = find_calls(source, sorted(set(wanted.values())), lambda call: id(call) in wanted) if wanted else []
    return [site for site in sites if _is_at_risk(site, names, risks)]


@cache
def _words_of(roots: frozenset[str]) -> frozenset[str]:
    """The short names of the converting functions of some libraries, and `map`."""
    names = (name for root in roots for name in library_of(root).functions)
    return frozenset(name.rpartition("#")[2].rpartition(".")[2] for name in names) | {"map"}


def _is_at_risk(site: Site, names: Names, risks: PossibleTensors) -> bool:
    try:
        return any(risks.reaches(each, site.scopes, at_risk=at_risk) for each, at_risk in given_away(site.call, names))
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return True
