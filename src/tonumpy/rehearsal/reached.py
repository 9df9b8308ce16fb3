"""Counts the conversions of a module, and tells which of them a run has not reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.detectors.memory_regions import Sharing
from tonumpy.detectors.receivers import infer
from tonumpy.judgements import span_of
from tonumpy.observed.sites import Sites
from tonumpy.pipeline import implicit_conversions
from tonumpy.text.candidates import ReturnSite, Site, call_span, is_in_row

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence

    from tonumpy.config import Settings
    from tonumpy.engine.names.module import Module
    from tonumpy.findings import Position
    from tonumpy.observed.sighting import Sighting


class Place(NamedTuple):
    """`how`: what is to be said of it."""

    filename: str
    start: Position
    how: str


def reached_in(module: Module, settings: Settings, sightings: Sequence[Sighting]) -> tuple[int, tuple[Place, ...]]:
    """How many conversions there are, and those that did not run."""
    sites, known, seen, others = Sites(module.source), dict[int, Place](), set[int](), 0
    nodes = []
    for node, place in _conversions(module, settings, sites):
        known[id(node)] = place
        nodes.append(node)
    for each in sightings:
        found = sites.candidate(each.spot) if each.is_method else sites.operation(each.spot)
        if found is not None:
            seen.add(id(found.call))
        else:  # of several in a row of which nothing more is known, none is said not to have run
            near = {id(node) for node in nodes if each.spot.column is None and is_in_row(node, each.spot.row)}
            seen |= near
            others += not near
    unreached = (place for node, place in known.items() if node not in seen)
    return len({*known, *seen}) + others, tuple(sorted(unreached, key=lambda place: place.start))


def _conversions(module: Module, settings: Settings, sites: Sites) -> Iterator[tuple[ast.expr | ast.AugAssign, Place]]:
    """The calls of `.numpy()` on what may be a tensor, and what else a check at low confidence finds.

    What a function returns to be converted elsewhere is left out: a run has seen it there.
    """
    source = module.source
    for each in infer(module, sites.candidates, lambda: Sharing({}, {}), lambda _: False) if sites.candidates else ():
        start = call_span(each.candidate, source)[0]
        yield each.candidate.call, Place(source.filename, start, "did not run")
    for other in implicit_conversions(module, settings):
        if not isinstance(other.site, ReturnSite):
            what = f"`{other.function}`" if isinstance(other.site, Site) else "this"
            start = span_of(other, source)[0]
            yield other.site.call, Place(source.filename, start, f"{what} converted no tensor")
