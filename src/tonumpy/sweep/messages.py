"""The values that travel between the command and the processes that read repositories."""

from typing import Any, Literal, NamedTuple

Kind = Literal["unreadable", "time", "memory", "died", "disk", "configuration", "engine"]


class Target(NamedTuple):
    """A repository as the manifest names it, where it is found, and which revision and folder of it are asked for."""

    repository: str
    source: str  # a clone URL, or the absolute path of a working or bare repository
    revision: str | None = None  # None: what HEAD names
    folder: str | None = None  # None: all of it

    def __str__(self) -> str:
        revision = f"@{self.revision}" if self.revision else ""
        return f"{self.repository}{revision}{f':{self.folder}' if self.folder else ''}"


class Orders(NamedTuple):
    """The settings for all tasks of a run.

    `check` and `fix` are command-line options of these commands; `fix` is None where no patches are asked for.
    """

    check: tuple[str, ...]
    fix: tuple[str, ...] | None
    seconds: float  # limits of a task
    memory: int  # bytes


class Request(NamedTuple):
    """A task: one repository. `done` holds the commits of which all is known already."""

    target: Target
    orders: Orders
    done: frozenset[str] = frozenset()


class Entry(NamedTuple):
    """An entry of the JSON report, a finding or an error, the file relative to the repository; and the lines there.

    `context` is the text of the lines around it, of which `context_row` is the first, and all that its fix touches.
    """

    said: dict[str, Any]
    line: str | None = None
    context: str | None = None
    context_row: int | None = None


class Failure(NamedTuple):
    """Why a task came to nothing."""

    kind: Kind
    reason: str


class Reply(NamedTuple):
    """The result of a task, and its cost; `memory` is the most that was held at a time, in bytes."""

    commit: str | None = None
    known: bool = False  # the commit is one of those that were done
    files: int = 0  # all that were looked at, whether they may hold a candidate or not
    candidates: int = 0
    findings: tuple[Entry, ...] = ()
    errors: tuple[Entry, ...] = ()
    patch: bytes | None = None
    failure: Failure | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory: int = 0
