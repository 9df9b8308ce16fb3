"""Does the work of `check` or `fix` on the bytes of one file; every failure becomes a SourceError."""

import os
from collections.abc import Callable, Sequence
from functools import wraps

from tonumpy import pipeline
from tonumpy.cli.disk import Change
from tonumpy.cli.outcomes import Basis, Outcome, Task
from tonumpy.engine.names.project import Project
from tonumpy.engine.names.reads import digest_of
from tonumpy.findings import Finding, Position, SourceError
from tonumpy.repair.comments import with_noqa
from tonumpy.rules import all_rules
from tonumpy.text.noqa import suppress
from tonumpy.text.recursion import cuts
from tonumpy.text.source import Source
from tonumpy.text.sources import source_of

Work = Callable[[Task, Project], Outcome]


def _guarded(work: Work) -> Work:
    """Wrap the work so that every exception becomes an error of its file, and the other files are still processed."""

    @wraps(work)
    def guarded(task: Task, project: Project) -> Outcome:
        try:
            return work(task, project)
        except SourceError as error:
            failure = error
        except RecursionError:
            failure = SourceError(task.filename, "cannot be checked: nested too deeply", Position(1, 1))
        except Exception as error:  # an internal error, reported with its place
            import traceback

            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
            reason = f"internal error, please report it: {type(error).__name__}: {error} ({place})"
            failure = SourceError(task.filename, reason)
        return Outcome(task, None, [], [], failure)

    return guarded


@_guarded
def check(task: Task, project: Project) -> Outcome:
    reading = _Reading(task, project)
    source = source_of(reading.data, task.filename)
    findings = list(map(source.placed, suppress(source, pipeline.check(source, task.settings, project))))
    return Outcome(task, None, findings, [], None, source.skipped, reading.basis())


@_guarded
def fix(task: Task, project: Project) -> Outcome:
    reading = _Reading(task, project)
    old = reading.data
    source = source_of(old, task.filename)
    fixed = pipeline.fix(source, task.settings, project, unsafe=task.settings.unsafe_fixes, held=task.held)
    change = Change(old, source.encode(fixed.text)) if fixed.applied else None
    unsettled = None
    if not fixed.is_settled:  # the repairs so far are right, and are written
        reason = f"not fully repaired after {pipeline.MAX_PASSES} passes: a bug in tonumpy, please report it"
        unsettled = SourceError(task.filename, reason, Position(1, 1))
    basis = reading.basis() if change is None and unsettled is None else None
    return Outcome(task, change, fixed.remaining, fixed.applied, unsettled, source.skipped, basis)


@_guarded
def add_noqa(task: Task, project: Project) -> Outcome:
    """Add a `# noqa` comment for every finding that it silences without changing anything else."""
    old = task.read()
    source = source_of(old, task.filename)
    found = suppress(source, pipeline.check(source, task.settings, project))
    of_comments = {rule.code for rule in all_rules() if "comments" in rule.judges}
    silenced = [finding for finding in found if finding.code not in of_comments]
    if not silenced:
        return Outcome(task, None, list(map(source.placed, found)), [], None, source.skipped)

    def commented(findings: Sequence[Finding]) -> tuple[Source, list[Finding], list[Finding]]:
        """Add comments for these findings; return the source, all its findings, and those not about comments."""
        after = with_noqa(source, findings)
        left = suppress(after, pipeline.check(after, task.settings, project))
        return after, left, [finding for finding in left if finding.code not in of_comments]

    after, left, loud = commented(silenced)
    errors = [
        SourceError(task.filename, _WITHOUT_EFFECT, each.start, each.cell and each.cell.number)
        for each in map(after.placed, loud)
    ]
    if loud:  # rows are comparable: comments change none
        rows = {finding.start.row for finding in loud}
        silenced = [finding for finding in silenced if finding.start.row not in rows]
        after, left, _ = commented(silenced) if silenced else (source, found, loud)
    change = Change(old, source.encode(after.document)) if silenced else None
    left, silenced = list(map(after.placed, left)), list(map(source.placed, silenced))
    return Outcome(task, change, left, silenced, None, (*source.skipped, *errors))


_WITHOUT_EFFECT = "no comment added: flake8 reads another `noqa` in the line, and the new one would have no effect"


class _Reading:
    """Reads the bytes of a file, and afterwards gives the basis of its findings, if the project records it."""

    def __init__(self, task: Task, project: Project) -> None:
        self._reads, self._cuts = project.reads, cuts()
        self._is_file = task.data is None
        self._reads.begin_file()
        self.data = task.read()

    def basis(self) -> Basis | None:
        read_set = self._reads.taken() if self._reads.records and self._is_file else None
        if read_set is None or cuts() != self._cuts:
            return None
        return Basis(digest_of([self.data]), read_set)
