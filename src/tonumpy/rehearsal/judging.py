"""Judges what a run has seen: the findings of each file, and which of its conversions ran at all."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tonumpy.config import Settings
from tonumpy.detectors.memory import Sharing
from tonumpy.detectors.receivers import infer
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import Project
from tonumpy.findings import Caller, Finding, Observed, Position, SourceError
from tonumpy.judgements import Judgement, judge_seen
from tonumpy.observed.observed_conversions import seen_in
from tonumpy.observed.sighting import OF_DEVICES, Sighting, Sites, Spot, What, together
from tonumpy.pipeline import argument_conversions, module_of
from tonumpy.rehearsal.events import Event
from tonumpy.rehearsal.frames import is_own, shown_path
from tonumpy.rehearsal.spool import Run
from tonumpy.text.candidates import ReturnSite, Site, is_in_row
from tonumpy.text.noqa import suppress
from tonumpy.text.reading import read_regular
from tonumpy.text.source import Source
from tonumpy.text.sources import source_of


class Place(NamedTuple):
    """`how`: what is to be said of it."""

    filename: str
    start: Position
    how: str


class JudgedFile(NamedTuple):
    """`conversions` is how many there are, as far as the text tells or the run has shown; `unreached` did not run."""

    source: Source
    settings: Settings
    sightings: tuple[Sighting, ...]
    judgements: tuple[Judgement, ...]
    conversions: int
    unreached: tuple[Place, ...]


class Judged(NamedTuple):
    files: tuple[JudgedFile, ...]
    errors: tuple[SourceError, ...]

    @property
    def findings(self) -> list[Finding]:
        return [judgement.finding for file in self.files for judgement in file.judgements]

    @property
    def unreached(self) -> list[Place]:
        return [place for file in self.files for place in file.unreached]


def judge_run(run: Run, settings_of: Callable[[str], Settings], *, fragile: bool) -> Judged:
    """All files of the user's that the run has loaded, or that something happened in."""
    sightings = sightings_of(run.events)
    files, errors, project = [], list[SourceError](), Project()
    for path in sorted({*sightings, *run.files}):
        name = shown_path(path)
        try:
            source = source_of(read_regular(path), name)
            here = sightings.get(path, ())
            files.append(_judged(source, settings_of(name), project, here, fragile=fragile))
        except (SourceError, OSError) as error:
            if path in sightings:
                known = error if isinstance(error, SourceError) else SourceError(name, error.strerror or str(error))
                errors.append(known)
    return Judged(tuple(files), tuple(errors))


def _judged(
    source: Source, settings: Settings, project: Project, sightings: Sequence[Sighting], *, fragile: bool
) -> JudgedFile:
    """SourceError for a defect of ours, which ends no report."""
    project.begin_file()
    told = [each for each in sightings if each.is_fault and (fragile or not each.observed.is_fragile)]
    of_conversions = [each for each in sightings if each.what not in OF_DEVICES]
    try:
        module = module_of(source, settings, project)
        found = judge_seen(module, settings, seen_in(module, told))
        conversions, unreached = reached_in(module, settings, of_conversions)
    except Exception as error:
        reason = f"internal error, please report it: {type(error).__name__}: {error}"
        raise SourceError(source.filename, reason) from error
    kept = set(suppress(source, [judgement.finding for judgement in found]))
    judgements = tuple(judgement for judgement in found if judgement.finding in kept)
    project.at_hand.clear()  # a project keeps the trees of others only
    return JudgedFile(source, settings, tuple(sightings), judgements, conversions, unreached)


def reached_in(module: Module, settings: Settings, sightings: Sequence[Sighting]) -> tuple[int, tuple[Place, ...]]:
    """How many conversions there are, and those that did not run."""
    sites, seen, others = Sites(module.source), set[int](), 0
    known = {id(node): (node, place) for node, place in _conversions(module, settings, sites)}
    for each in sightings:
        found = sites.candidate(each.spot) if each.is_method else sites.operation(each.spot)
        if found is not None:
            seen.add(id(found.call))
        else:  # of several in a row of which nothing more is known, none is said not to have run
            row = each.spot.row if each.spot.column is None else 0
            near = {key for key, (node, _) in known.items() if is_in_row(node, row)}
            seen |= near
            others += not near
    unreached = (place for key, (_, place) in known.items() if key not in seen)
    return len({*known, *seen}) + others, tuple(sorted(unreached, key=lambda place: place.start))


def _conversions(module: Module, settings: Settings, sites: Sites) -> Iterator[tuple[ast.expr | ast.AugAssign, Place]]:
    """The calls of `.numpy()` on what may be a tensor, and what else a check at low confidence finds.

    What a function returns to be converted elsewhere is left out: a run has seen it there.
    """
    source = module.source
    for each in infer(module, sites.candidates, lambda: Sharing({}, {}), lambda _: False) if sites.candidates else ():
        yield each.site.call, Place(source.filename, each.span(source)[0], "did not run")
    for other in argument_conversions(module, settings):
        if not isinstance(other.site, ReturnSite):
            what = f"`{other.function}`" if isinstance(other.site, Site) else "this"
            yield other.site.call, Place(source.filename, other.span(source)[0], f"{what} converted no tensor")


_MOST_HELD = 20  # different ways in which a tensor came to one place


def sightings_of(events: Iterable[Event]) -> dict[str, list[Sighting]]:
    """By the absolute path of the file; without what happened in no code of the user's.

    A call of `.numpy()` is kept apart from what else happens at the place: where only the row is known, that may be
    elsewhere in it.
    """
    places: dict[tuple[str, Spot, What, bool], list[Event]] = {}
    for each in events:
        if each.own >= 0:
            call = each.stack[each.own]
            is_method = each.what != "conversion" or (each.is_direct and each.way == "numpy")
            places.setdefault((os.path.abspath(call.filename), call.spot, each.what, is_method), []).append(each)
    found: dict[str, list[Sighting]] = {}
    for (path, spot, what, is_method), each_time in places.items():
        found.setdefault(path, []).append(_sighting(spot, what, each_time, is_method=is_method))
    for several in found.values():
        several.sort(key=lambda each: [-1 if part is None else part for part in each.spot])
    return dict(sorted(found.items()))


def _sighting(spot: Spot, what: What, events: list[Event], *, is_method: bool) -> Sighting:
    outcomes: dict[str, list[Event]] = {}
    for each in events:
        outcomes.setdefault(each.outcome, []).append(each)
    told = next(outcomes[outcome] for outcome in ("refused", "handled", "fragile", "passed") if outcome in outcomes)
    passed = [each for each in events if not each.is_refused]
    is_fragile = what == "conversion" and told[0].outcome == "fragile"
    held = dict.fromkeys(each.held for each in told if each.held)
    return Sighting(
        spot,
        what,
        is_method,
        told[0].is_refused,
        _bit(told),
        _observed(told)._replace(is_fragile=is_fragile),
        tuple(held)[:_MOST_HELD],
        _observed(passed) if passed else None,
        told[0].outcome == "handled",
        told[0].about,
    )


def _observed(told: list[Event]) -> Observed:
    return together([_of_event(each) for each in told])._replace(stack=_callers(told[0]))


def _of_event(event: Event) -> Observed:
    error, has_grad = ": ".join(event.error or ()), "grad" in event.reasons
    facts = event.device, has_grad, event.dtype, event.layout, event.shape, event.times
    return Observed(*facts, event.reasons, error)


def _callers(event: Event) -> tuple[Caller, ...]:
    """The calls of the user's code, and how that code was reached: not what runs it, as pytest does in thirty
    frames."""
    inner, outer = event.stack[: event.own + 1], event.stack[event.own + 1 :]
    kept = [*inner, *(call for call in outer if is_own(call.filename))]
    return tuple(Caller(call.filename, call.row, call.function) for call in kept)


def _bit(told: list[Event]) -> str | None:
    """Real numbers have no conjugate bit, and the imaginary part of a conjugate has the negative one."""
    event = next((each for each in told if "bit" in each.reasons), None)
    if event is None:
        return None
    return "conjugate" if "complex" in event.dtype else "negative"
