"""Counts the conversions of a module, and tells which of them a run has not reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.detectors.memory_regions import Sharing
from tonumpy.detectors.receivers import infer
from tonumpy.judgements import span_of
from tonumpy.observed.sites import Sites
from tonumpy.pipeline import implicit_conversions
from tonumpy.text.candidates import ReturnSite, Site, call_span

if TYPE_CHECKING:
    import ast
    from collections.abc import Collection, Sequence

    from tonumpy.config import Settings
    from tonumpy.conversions import ImplicitConversion
    from tonumpy.engine.names.module import Module
    from tonumpy.findings import Position
    from tonumpy.observed.sighting import Sighting, Spot


class Place(NamedTuple):
    """`how`: what is to be said of it."""

    filename: str
    start: Position
    how: str


def reached_in(module: Module, settings: Settings, sightings: Sequence[Sighting]) -> tuple[int, tuple[Place, ...]]:
    """How many conversions there are, and those that did not run."""
    sites = Sites(module.source)
    of_methods, methods = _methods(module, sites, [each for each in sightings if each.is_method])
    of_others, others = _implicit(module, settings, sites, {each.spot for each in sightings if not each.is_method})
    return of_methods + of_others, tuple(sorted((*methods, *others), key=lambda place: place.start))


def _methods(module: Module, sites: Sites, sightings: Sequence[Sighting]) -> tuple[int, list[Place]]:
    """Calls of `.numpy()` on what may be a tensor, or was one."""
    placed = [sites.candidate(each.spot) for each in sightings]
    seen, elsewise = {id(each) for each in placed if each is not None}, placed.count(None)
    rows = {each.spot.row for each in sightings if each.spot.column is None}
    seen |= {id(each) for row in rows for each in sites.in_row(row)}  # which of them is not known
    may_be = infer(module, sites.candidates, lambda: Sharing({}, {}), lambda _: False) if sites.candidates else []
    known = {id(each.candidate) for each in may_be}
    unreached = [each for each in sites.candidates if id(each) in known - seen]
    name = module.source.filename
    places = [Place(name, call_span(each, module.source)[0], "did not run") for each in unreached]
    return len(known | seen) + elsewise, places


def _implicit(module: Module, settings: Settings, sites: Sites, spots: Collection[Spot]) -> tuple[int, list[Place]]:
    """The other conversions of a module: how many have run, and the places that a check at low confidence finds.

    What a function returns to be converted elsewhere is left out: a run has seen it there.
    """
    known = {
        id(each.site.call): each
        for each in implicit_conversions(module, settings)
        if not isinstance(each.site, ReturnSite)
    }
    seen, lost = set[int](), 0
    for spot in spots:
        site = sites.operation(spot)
        if site is not None:
            seen.add(id(site.call))
            continue
        # Of several in a row of which nothing more is known, none is said not to have run.
        near = {node for node, each in known.items() if _is_around(each.site.call, spot)}
        seen |= near
        lost += not near
    unreached = [each for node, each in known.items() if node not in seen]
    name = module.source.filename
    places = [
        Place(name, span_of(each, module.source)[0], f"{_converter(each)} converted no tensor") for each in unreached
    ]
    return len({*known, *seen}) + lost, places


def _is_around(node: ast.AST, spot: Spot) -> bool:
    row, end_row = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return spot.column is None and row <= spot.row <= end_row


def _converter(conversion: ImplicitConversion) -> str:
    return f"`{conversion.function}`" if isinstance(conversion.site, Site) else "this"
