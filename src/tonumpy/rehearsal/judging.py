"""Judges what a run has seen: the findings of each file, and which of its conversions ran at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.project import Project
from tonumpy.findings import SourceError
from tonumpy.judgements import Judgement, judge_seen
from tonumpy.observed.observed_conversions import seen_alone, seen_in
from tonumpy.observed.sighting import OF_DEVICES
from tonumpy.pipeline import module_of
from tonumpy.rehearsal.reached import Place, reached_in
from tonumpy.rehearsal.sightings import sightings_of
from tonumpy.text.noqa import suppress
from tonumpy.text.reading import read_regular
from tonumpy.text.sources import source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tonumpy.config import Settings
    from tonumpy.findings import Finding
    from tonumpy.observed.sighting import Sighting
    from tonumpy.rehearsal.spool import Run
    from tonumpy.text.source import Source


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
