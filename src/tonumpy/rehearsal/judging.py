"""Judges what a run has seen: the findings of each file, and which of its conversions ran at all."""

from __future__ import annotations

import os

from tonumpy.findings import SourceError
from tonumpy.inference.index.project import Project
from tonumpy.inference.memory.sharing import Sharing
from tonumpy.inference.receivers import infer
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.observed.conversions import seen_in
from tonumpy.observed.sites import Sites
from tonumpy.pipeline import judge_seen, module_of
from tonumpy.rehearsal.sightings import sightings_of
from tonumpy.text.candidates import call_span
from tonumpy.text.noqa import suppress
from tonumpy.text.reading import read_regular
from tonumpy.text.sources import source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tonumpy.config import Settings
    from tonumpy.findings import Finding, Position
    from tonumpy.inference.index.module import Module
    from tonumpy.observed.sighting import Sighting
    from tonumpy.pipeline import Judgement
    from tonumpy.rehearsal.spool import Run
    from tonumpy.text.source import Source


class Place(NamedTuple):
    filename: str
    start: Position


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
    sightings = sightings_of(run.noted)
    files, errors = [], []
    for path in sorted({*sightings, *run.files}):
        name = shown_path(path)
        try:
            source = source_of(_read(path, name), name)
            files.append(_judged(source, settings_of(name), sightings.get(path, ()), fragile=fragile))
        except SourceError as error:
            if path in sightings:
                errors.append(error)
    return Judged(tuple(files), tuple(errors))


def shown_path(path: str) -> str:
    """Relative to the folder at hand, where it is in there."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def is_outside(name: str) -> bool:
    """Of the folder at hand: such a path is shown in full."""
    return os.path.isabs(name)


def _read(path: str, name: str) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise SourceError(name, error.strerror or str(error)) from error


def _judged(source: Source, settings: Settings, sightings: Sequence[Sighting], *, fragile: bool) -> JudgedFile:
    module = module_of(source, settings, Project())
    told = [each for each in sightings if fragile or not each.observed.is_fragile]
    found = judge_seen(source, settings, seen_in(module, told))
    kept = set(suppress(source, [judgement.finding for judgement in found]))
    judgements = (judgement for judgement in found if judgement.finding in kept)
    conversions, unreached = _reached(module, sightings)
    return JudgedFile(source, settings, tuple(sightings), tuple(judgements), conversions, unreached)


def _reached(module: Module, sightings: Sequence[Sighting]) -> tuple[int, tuple[Place, ...]]:
    """How many conversions there are, and those that did not run: calls of `.numpy()` on what may be a tensor, and
    whatever else has converted one."""
    source, sites = module.source, Sites(module.source)
    seen = {id(found) for each in sightings if each.is_method and (found := sites.candidate(each.spot)) is not None}
    others = {each.spot for each in sightings if not each.is_method}
    may_be = infer(module, sites.candidates, lambda: Sharing({}, {}), lambda _: False) if sites.candidates else []
    known = {id(each.candidate) for each in may_be}
    unreached = [each for each in sites.candidates if id(each) in known - seen]
    places = (Place(source.filename, call_span(each, source)[0]) for each in unreached)
    return len(known | seen) + len(others), tuple(places)
