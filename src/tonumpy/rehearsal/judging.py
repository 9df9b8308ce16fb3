"""Judges what a run has seen: the findings of each file, and which of its conversions ran at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.detectors.memory_regions import Sharing
from tonumpy.detectors.receivers import infer
from tonumpy.engine.names.project import Project
from tonumpy.findings import SourceError
from tonumpy.judgements import Judgement, judge_seen, span_of
from tonumpy.observed.observed_conversions import seen_alone, seen_in
from tonumpy.observed.sighting import OF_DEVICES
from tonumpy.observed.sites import Sites
from tonumpy.pipeline import implicit_conversions, module_of
from tonumpy.rehearsal.sightings import sightings_of
from tonumpy.text.candidates import ReturnSite, Site, call_span, is_in_row
from tonumpy.text.noqa import suppress
from tonumpy.text.reading import read_regular
from tonumpy.text.sources import source_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterator, Sequence

    from tonumpy.config import Settings
    from tonumpy.engine.names.module import Module
    from tonumpy.findings import Finding, Position
    from tonumpy.observed.sighting import Sighting
    from tonumpy.rehearsal.spool import Run
    from tonumpy.text.source import Source


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
            source = source_of(_read(path, name), name)
            here = sightings.get(path, ())
            files.append(_judged(source, settings_of(name), project, here, errors, fragile=fragile))
        except SourceError as error:
            if path in sightings:
                errors.append(error)
    return Judged(tuple(files), tuple(errors))


def shown_path(path: str) -> str:
    """Relative to the folder at hand, where it is in there."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def is_outside(name: str) -> bool:
    """True if a path is outside of the working folder: such a path is shown in full."""
    return os.path.isabs(name)


def _read(path: str, name: str) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise SourceError(name, error.strerror or str(error)) from error


def _judged(
    source: Source,
    settings: Settings,
    project: Project,
    sightings: Sequence[Sighting],
    errors: list[SourceError],
    *,
    fragile: bool,
) -> JudgedFile:
    """A defect of ours ends no report: it is added to the errors, and what was seen is told without it."""
    project.begin_file()
    module = module_of(source, settings, project)
    told = [each for each in sightings if each.is_fault and (fragile or not each.observed.is_fragile)]
    of_conversions = [each for each in sightings if each.what not in OF_DEVICES]
    found, conversions, unreached = list[Judgement](), len(of_conversions), tuple[Place, ...]()
    try:
        found = judge_seen(module, settings, seen_in(module, told))
        conversions, unreached = reached_in(module, settings, of_conversions)
    except Exception as error:
        errors.append(_defect(source.filename, error))
        found = found or judge_seen(module, settings, [seen_alone(source, each) for each in told])
    kept = set(suppress(source, [judgement.finding for judgement in found]))
    judgements = (judgement for judgement in found if judgement.finding in kept)
    project.at_hand.clear()  # a project keeps the trees of others only
    return JudgedFile(source, settings, tuple(sightings), tuple(judgements), conversions, unreached)


def _defect(filename: str, error: Exception) -> SourceError:
    import traceback  # only where there is a defect: start-up

    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    return SourceError(filename, f"internal error, please report it: {type(error).__name__}: {error} ({place})")


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
