"""Judges the events of a run: the findings of each file, and which of its conversions did not run."""

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
    """A conversion that did not run; `how` is the message about it."""

    filename: str
    start: Position
    how: str


class JudgedFile(NamedTuple):
    """`conversions` is how many the text or the run shows; `unreached` are those that did not run."""

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
    """Judge all of the user's files that the run loaded or that have events."""
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
    """Judge one file; an internal error becomes a SourceError, so the report goes on."""
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
    """The number of conversions, and the places of those that did not run."""
    sites, seen, others = Sites(module.source), set[int](), 0
    known = {id(node): (node, place) for node, place in _conversions(module, settings, sites)}
    for each in sightings:
        found = sites.candidate(each.spot) if each.is_method else sites.operation(each.spot)
        if found is not None:
            seen.add(id(found.call))
        else:  # only the row is known: none of the conversions in it is called unreached
            row = each.spot.row if each.spot.column is None else 0
            near = {key for key, (node, _) in known.items() if is_in_row(node, row)}
            seen |= near
            others += not near
    unreached = (place for key, (_, place) in known.items() if key not in seen)
    return len({*known, *seen}) + others, tuple(sorted(unreached, key=lambda place: place.start))


def _conversions(module: Module, settings: Settings, sites: Sites) -> Iterator[tuple[ast.expr | ast.AugAssign, Place]]:
    """Yield the calls of `.numpy()` on possible tensors, and all else that a check at low confidence finds.

    `return` sites, whose values a caller converts, are left out: a run sees the conversion there.
    """
    source = module.source
    for each in infer(module, sites.candidates, lambda: Sharing({}, {}), lambda _: False) if sites.candidates else ():
        yield each.site.call, Place(source.filename, each.span(source)[0], "did not run")
    for other in argument_conversions(module, settings):
        if not isinstance(other.site, ReturnSite):
            what = f"`{other.function}`" if isinstance(other.site, Site) else "this"
            yield other.site.call, Place(source.filename, other.span(source)[0], f"{what} converted no tensor")


_MOST_HELD = 20  # distinct holders of tensors recorded at one place


def sightings_of(events: Iterable[Event]) -> dict[str, list[Sighting]]:
    """The sightings by absolute path of the file; events without a frame of the user's are left out.

    Calls of `.numpy()` are kept apart from other events at the same spot: where only the row is known, these may be
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
    """The frames down from the user's innermost, and of its callers only the user's own: pytest alone adds thirty."""
    inner, outer = event.stack[: event.own + 1], event.stack[event.own + 1 :]
    kept = [*inner, *(call for call in outer if is_own(call.filename))]
    return tuple(Caller(call.filename, call.row, call.function) for call in kept)


def _bit(told: list[Event]) -> str | None:
    """The bit that was refused: "conjugate" of complex tensors, "negative" of real ones such as `x.conj().imag`."""
    event = next((each for each in told if "bit" in each.reasons), None)
    if event is None:
        return None
    return "conjugate" if "complex" in event.dtype else "negative"
