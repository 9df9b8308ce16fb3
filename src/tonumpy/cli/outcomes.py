"""The values passed between the command and the work on one file; imports nothing of the analysis."""

from typing import NamedTuple

from tonumpy.cli.disk import Change, read
from tonumpy.config import Settings
from tonumpy.engine.names.reads import ReadSet
from tonumpy.findings import Finding, SourceError


class Task(NamedTuple):
    """The work on one file. `data` is None if the file is read by the task: so a run holds the bytes of one at a time.

    `held` are the codes and places of findings that must not be repaired.
    """

    filename: str
    data: bytes | None
    settings: Settings
    held: frozenset[tuple[str, str]] = frozenset()

    def read(self) -> bytes:
        return read(self.filename) if self.data is None else self.data


class Basis(NamedTuple):
    """What findings depend on besides settings and tool: the digest of the file's bytes, and the other files read."""

    digest: str
    read_set: ReadSet


class Outcome(NamedTuple):
    """The result of a task: `findings` are those left after the change, if there is one; `fixed` those that it repairs.

    `error` is set if the file could not be processed; `skipped` are the errors of notebook cells that could not.
    `basis` is set if the findings may be cached.
    """

    task: Task
    change: Change | None
    findings: list[Finding]
    fixed: list[Finding]
    error: SourceError | None
    skipped: tuple[SourceError, ...] = ()
    basis: Basis | None = None

    @property
    def errors(self) -> tuple[SourceError, ...]:
        return self.skipped if self.error is None else (self.error, *self.skipped)
