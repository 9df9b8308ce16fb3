"""The values that travel between the command and the work on one file; imports nothing of the analysis."""

from typing import NamedTuple

from tonumpy.cli.disk import Change, read
from tonumpy.config import Settings
from tonumpy.engine.names.reads import ReadSet
from tonumpy.findings import Finding, SourceError


class Task(NamedTuple):
    """`data` is None where the file itself is to be read: a run over many files holds the bytes of one at a time.

    `held` are the codes and places of findings that are not to be repaired.
    """

    filename: str
    data: bytes | None
    settings: Settings
    held: frozenset[tuple[str, str]] = frozenset()

    def read(self) -> bytes:
        return read(self.filename) if self.data is None else self.data


class Basis(NamedTuple):
    """The grounds of a file's findings beside settings and tool: the digest of its bytes, and what else was read."""

    digest: str
    read_set: ReadSet


class Outcome(NamedTuple):
    """`findings` are those left after the change, if there is one; `fixed` are those that it repairs.

    `error` is that of a file of which nothing was done, `skipped` are those of the cells of a notebook that were not.
    `basis` is that of findings that may be kept.
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
