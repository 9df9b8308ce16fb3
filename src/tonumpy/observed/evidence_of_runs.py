"""Turns what former runs have seen in a file into evidence for a check of it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.config import ConfigError
from tonumpy.findings import SourceError
from tonumpy.observed.record import Record, folder_of, read_record
from tonumpy.observed.sites import Sites

if TYPE_CHECKING:
    import ast

    from tonumpy.findings import Observed
    from tonumpy.observed.sighting import Sighting
    from tonumpy.text.source import Source


class Told(NamedTuple):
    """The sightings of runs in a source: all of them, and by the node that was evaluated."""

    sightings: tuple[Sighting, ...]
    at: dict[ast.AST, Sighting]


def told_of(source: Source, path: str) -> Told:
    """The sightings that the record at a path has of a source; SourceError where it cannot be read."""
    try:
        record, folder = _record(path), folder_of(path)
    except ConfigError as error:
        raise SourceError(source.filename, str(error)) from error
    sightings = record.sightings(source, folder)
    sites = Sites(source)
    at: dict[ast.AST, Sighting] = {}
    for each in sightings:
        candidate = sites.candidate(each.spot) if each.is_method else None
        site = None if candidate is not None else sites.operation(each.spot)
        node = candidate.call if candidate is not None else site.call if site is not None else None
        if node is not None and each.what == "conversion":
            at[node] = each
    return Told(tuple(sightings), at)


def words_of(observed: Observed) -> str:
    """The words for a sighting: "fails (TypeError: ...), seen 3 times: cuda:0, ..."."""
    return f"fails ({observed.error}), {observed.words}" if observed.reasons else f"{observed.words}; never refused"


def words_of_all(sighting: Sighting) -> str:
    """With how often the same was not refused."""
    passed = sighting.passed if sighting.is_refused else None
    more = "" if passed is None else f"; not refused {passed.times} time{'s' if passed.times > 1 else ''}"
    return f"{words_of(sighting.observed)}{more}"


@cache
def _record(path: str) -> Record:
    return read_record(path)
