"""The values passed between the command and the processes that read repositories."""

from typing import Any, Literal, NamedTuple

Kind = Literal["unreadable", "time", "memory", "died", "disk", "configuration", "engine"]


class Target(NamedTuple):
    """A repository by its name in the manifest, its source, and the revision and folder to check."""

    repository: str
    source: str  # a clone URL, or the absolute path of a working or bare repository
    revision: str | None = None  # None: HEAD
    folder: str | None = None  # None: all of it

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{self.repository}{revision}{f':{self.folder}' if self.folder else ''}"


class Orders(NamedTuple):
    """The settings for all tasks of a run.

    `check` and `fix` are command-line options of these commands; `fix` is None if no patches are wanted.
    """

    check: tuple[str, ...]
    fix: tuple[str, ...] | None
    seconds: float  # limits of a task
    memory: int  # bytes


class Request(NamedTuple):
    """A task: one repository. `done` are the commits whose results are complete already."""

    target: Target
    orders: Orders
    done: frozenset[str] = frozenset()


class Entry(NamedTuple):
    """An entry of the JSON report, a finding or an error, with the file relative to the repository, and its line.

    `context` is the text of the lines around it, including all that its fix changes; `context_row` is their first row.
    """

    said: dict[str, Any]
    line: str | None = None
    context: str | None = None
    context_row: int | None = None


class Failure(NamedTuple):
    """The reason why a task failed."""

    kind: Kind
    reason: str


class Reply(NamedTuple):
    """The result of a task, and its cost; `memory` is the peak, in bytes."""

    commit: str | None = None
    known: bool = False  # the commit is in `done`
    files: int = 0  # all that were checked, with or without a candidate
    candidates: int = 0
    findings: tuple[Entry, ...] = ()
    errors: tuple[Entry, ...] = ()
    patch: bytes | None = None
    failure: Failure | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory: int = 0
