"""One file's bytes and settings in; what `check` or `fix` makes of them out, with every failure as a SourceError."""

from __future__ import annotations

import os
from collections.abc import Callable

from tonumpy import pipeline
from tonumpy.findings import Finding, Position, SourceError
from tonumpy.frontends import copies
from tonumpy.frontends.disk import read
from tonumpy.inference.index.project import Project
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.rules import all_rules
from tonumpy.text.noqa import suppress
from tonumpy.text.source import Source
from tonumpy.text.sources import source_of

if TYPE_CHECKING:
    from tonumpy.config import Settings


class Task(NamedTuple):
    """`data` is None where the file itself is to be read: a run over many files holds the bytes of one at a time."""

    filename: str
    data: bytes | None
    settings: Settings

    def read(self) -> bytes:
        return read(self.filename) if self.data is None else self.data


class Change(NamedTuple):
    """What a file held, and what it should hold."""

    old: bytes
    new: bytes


class Outcome(NamedTuple):
    """`findings` are those left after the change, if there is one; `fixed` are those that it repairs.

    `error` is that of a file of which nothing was done, `skipped` are those of the cells of a notebook that were not.
    """

    task: Task
    change: Change | None
    findings: list[Finding]
    fixed: list[Finding]
    error: SourceError | None
    skipped: tuple[SourceError, ...] = ()

    @property
    def errors(self) -> tuple[SourceError, ...]:
        return self.skipped if self.error is None else (self.error, *self.skipped)


Work = Callable[[Task, Project], Outcome]


def check(task: Task, project: Project) -> Outcome:
    return _guarded(_check, task, project)


def fix(task: Task, project: Project) -> Outcome:
    return _guarded(_fix, task, project)


def add_noqa(task: Task, project: Project) -> Outcome:
    return _guarded(_add_noqa, task, project)


def _check(task: Task, project: Project) -> Outcome:
    source = source_of(task.read(), task.filename)
    findings = source.placed(suppress(source, copies.check(source, task.settings, project)))
    return Outcome(task, None, findings, [], None, source.skipped)


def _fix(task: Task, project: Project) -> Outcome:
    old = task.read()
    source = source_of(old, task.filename)
    fixed = pipeline.fix(source, task.settings, project, unsafe=task.settings.unsafe_fixes)
    change = Change(old, source.encode(fixed.text)) if fixed.applied else None
    unsettled = None
    if not fixed.is_settled:  # what was repaired is right, and is written
        reason = f"has more to repair after {pipeline.MAX_PASSES} rounds, a defect of tonumpy (please report it)"
        unsettled = SourceError(task.filename, reason, Position(1, 1))
    return Outcome(task, change, fixed.remaining, fixed.applied, unsettled, source.skipped)


def _add_noqa(task: Task, project: Project) -> Outcome:
    """A `# noqa` comment for every finding, where it silences that finding and changes nothing else."""
    from tonumpy.repair.comments import with_noqa  # only here: start-up

    old = task.read()
    if task.filename.endswith(".ipynb"):
        raise SourceError(task.filename, "comments are added to modules only, not to the cells of a notebook")
    source = Source(old, task.filename)
    found = suppress(source, pipeline.check(source, task.settings, project))
    of_comments = {rule.code for rule in all_rules() if rule.judges == "comments"}
    silenced = [finding for finding in found if finding.code not in of_comments]
    if not silenced:
        return Outcome(task, None, found, [], None)
    after = Source.from_text(with_noqa(source, silenced), task.filename)
    left = suppress(after, pipeline.check(after, task.settings, project))
    loud = [finding for finding in left if finding.code not in of_comments]
    if loud:
        raise SourceError(task.filename, f"no comments are added: one in row {loud[0].start.row} would have no effect")
    return Outcome(task, Change(old, source.encode(after.text)), left, silenced, None)


def _guarded(work: Work, task: Task, project: Project) -> Outcome:
    """One file must not end the run for the others, whatever it does to us."""
    try:
        return work(task, project)
    except SourceError as error:
        failure = error
    except RecursionError:
        failure = SourceError(task.filename, "cannot be checked: nested too deeply", Position(1, 1))
    except Exception as error:  # a defect of ours: it is reported with its place, and the other files are still done
        import traceback

        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
        reason = f"internal error, please report it: {type(error).__name__}: {error} ({place})"
        failure = SourceError(task.filename, reason)
    return Outcome(task, None, [], [], failure)
