"""Runs tasks, or takes cached outcomes, and yields the outcomes in the order of the tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.cli.disk import read, write_all
from tonumpy.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tonumpy.cli.disk import Change
    from tonumpy.cli.outcomes import Outcome, Task
    from tonumpy.cli.result_cache import ResultCache
    from tonumpy.config import Configuration
    from tonumpy.findings import Finding, SourceError


class Run(NamedTuple):
    """The result of a run: one outcome for each file that may hold a candidate, in the order of the files.

    `looked_at` are all files, also those without a candidate.
    """

    outcomes: list[Outcome]
    errors: list[SourceError]
    stdin: bytes | None
    looked_at: list[str]

    @property
    def changes(self) -> list[tuple[str, Change]]:
        """The name and the change of each file that changes."""
        return [(each.task.filename, each.change) for each in self.outcomes if each.change is not None]

    @property
    def is_certain_only(self) -> bool:
        """True if the settings of some file ask for high confidence only."""
        return any(outcome.task.settings.confidence == "high" for outcome in self.outcomes)

    def report(self) -> Report:
        findings = [finding for outcome in self.outcomes for finding in outcome.findings]
        unsafe = frozenset(each.task.filename for each in self.outcomes if each.task.settings.unsafe_fixes)
        return Report(findings, sorted(self.errors, key=lambda error: error.filename), unsafe, read=self.read)

    def read(self, filename: str) -> bytes:
        """The bytes to which the findings of a file refer: those after the change, if there is one."""
        changed = dict(self.changes).get(filename)
        if changed is not None or self.stdin is not None:
            return changed.new if changed is not None else self.stdin or b""
        return read(filename)

    def repaired(self, due: Sequence[Finding], configuration: Configuration) -> Run:
        """The run with exactly these findings repaired."""
        wanted = {id(finding) for finding in due}
        tasks = []
        for each in self.outcomes:
            held = frozenset((other.code, other.place) for other in each.findings if id(other) not in wanted)
            if any(finding.fix is not None and id(finding) in wanted for finding in each.findings):
                tasks.append(each.task._replace(data=self.stdin, held=held))
        by_name = {each.task.filename: each for each in self.outcomes}
        errors = list(self.errors)
        if tasks:
            for outcome in in_order("fix", tasks, configuration.settings_in("").jobs, {}, None):
                by_name[outcome.task.filename] = outcome
                errors += [] if outcome.error is None else [outcome.error]
        return self._replace(outcomes=[by_name[each.task.filename] for each in self.outcomes], errors=errors)

    def written(self) -> Run:
        """Write the changes. Call it after the last file was checked: the text of one is evidence for others."""
        errors = write_all(self.changes)
        failed = {error.filename for error in errors}
        kept = [outcome for outcome in self.outcomes if outcome.task.filename not in failed]
        return self._replace(outcomes=kept, errors=[*self.errors, *errors])


def in_order(
    command: str, tasks: Sequence[Task], jobs: int, known: dict[str, Outcome], result_cache: ResultCache | None
) -> Iterator[Outcome]:
    """Yield the outcomes of tasks: those in `known`, by file name, and new ones, which `result_cache` keeps."""
    left = [task for task in tasks if task.filename not in known]
    made = _made(command, left, jobs, result_cache) if left else iter(())
    for task in tasks:
        yield known[task.filename] if task.filename in known else next(made)
    yield from made  # exhausts it, so that its `finally` runs


def _made(command: str, tasks: Sequence[Task], jobs: int, result_cache: ResultCache | None) -> Iterator[Outcome]:
    from tonumpy.cli import run  # imports the whole analysis, not needed if all is known: start-up
    from tonumpy.cli.parallel import outcomes_of  # the same: start-up

    work = {"check": run.check, "fix": run.fix, "add-noqa": run.add_noqa}[command]
    for outcome in outcomes_of(work, tasks, jobs, result_cache):
        if result_cache is not None:
            result_cache.keep(outcome)
        yield outcome
