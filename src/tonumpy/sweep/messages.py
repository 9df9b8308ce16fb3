"""The values that travel between the command, the workers of the engine and the processes in which files are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, Literal

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
    """What holds for all tasks of a run.

    `check` and `fix` are command-line options of these commands; `fix` is None where no patches are asked for.
    """

    check: tuple[str, ...]
    fix: tuple[str, ...] | None
    scratch: str  # a folder of this run's own, on whichever machine a task runs
    seconds: float  # limits of a task
    memory: int  # bytes
    piece: int  # files with candidates in one task


class Changed(NamedTuple):
    """A file that is repaired, and what it should hold."""

    path: bytes
    new: bytes


class Request(NamedTuple):
    """A task. Without `files` it is a repository's first; without a commit the commit is still to be found out.

    `done` holds the commits of which all is known already. With `changes` the task is to make a patch of them.
    """

    target: Target
    orders: Orders
    commit: str | None = None
    done: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()
    changes: tuple[Changed, ...] = ()


class Entry(NamedTuple):
    """What the JSON report says of a finding or an error, the file relative to the repository; and the lines there.

    `context` is the text of the lines around it, of which `context_row` is the first, and all that its fix touches.
    """

    said: dict[str, Any]
    line: str | None
    context: str | None
    context_row: int | None


class Failure(NamedTuple):
    """Why a task came to nothing."""

    kind: Kind
    reason: str


class Cost(NamedTuple):
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    memory: int = 0  # bytes, the most that was held at a time

    def plus(self, other: Cost) -> Cost:
        return Cost(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds, max(self.memory, other.memory))


class Reply(NamedTuple):
    """What became of a task.

    `pieces` holds the files for further tasks where a repository is too large for one; then nothing has been analysed.
    """

    commit: str | None = None
    known: bool = False  # the commit is one of those that were done
    files: int = 0  # all that were looked at, whether they may hold a candidate or not
    candidates: int = 0
    pieces: tuple[tuple[str, ...], ...] = ()
    findings: tuple[Entry, ...] = ()
    errors: tuple[Entry, ...] = ()
    changes: tuple[Changed, ...] = ()
    patch: bytes | None = None
    failure: Failure | None = None
    cost: Cost = Cost()
