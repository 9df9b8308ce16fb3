"""What a walk over a function knows at one point: the copies that names hold, and those that are on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ast

    from tonumpy.text.candidates import Scope, Site


class Copy(NamedTuple):
    """An asynchronous copy: its call, the calls of helpers through which it was made (the outermost first), the stream
    that it was put on, empty for the current one, whether a loop has come round since, and the file where it is made,
    empty for the one at hand.

    Where it is held: the field of an object (dotted, the outermost first), the number of lists around the dict or tuple
    that holds it, -1 if none does, its literal key there, or "#" with its position, and the key by which it was taken
    out of one.

    `is_ahead`: a generator, or what else one goes through, makes it when it is asked for the next."""

    call: ast.Call
    scopes: tuple[Scope, ...]
    source: ast.expr
    through: tuple[ast.Call, ...] = ()
    stream: str = ""
    is_old: bool = False
    filename: str = ""
    field: str = ""
    lists: int = -1
    key: str = ""
    part: str = ""
    is_ahead: bool = False

    @property
    def itself(self) -> Copy:
        """Wherever it is held."""
        return self._replace(field="", lists=-1, key="", part="")


Copies = frozenset[Copy]
NO_COPIES: Copies = frozenset()


class Read(NamedTuple):
    """The first read of a copy on one path. `is_doubtful`: a function out of sight was called since, which may have
    waited. `others`: further copies are on their way as well. `is_by_method`: the node calls a method of it."""

    copy: Copy
    node: ast.expr
    site: Site
    is_doubtful: bool
    others: bool
    is_by_method: bool


class Ahead(NamedTuple):
    """What is known of a copy that is made when the next is asked for. `waits`: what makes it may wait for it when it
    is asked again."""

    is_doubtful: bool
    waits: bool


class State:
    """What names hold, and the copies that are on their way, each with whether that is in doubt."""

    def __init__(self, names: dict[str, Copies], pending: dict[Copy, bool], on_device: set[str]) -> None:
        self.names = names
        self.pending = pending
        self.on_device = on_device  # names of what is, or is made of, a tensor that is copied to the host
        self.on_host: set[str] = set()  # names of what has arrived there: `mask.cpu()`
        self.waited: set[str] = set()  # streams that the current one waits for
        self.made: set[Copy] = set()  # on the way here
        self.parts_read: set[tuple[Copy, str]] = set()  # of many copies that one call makes, by their keys

    def copied(self) -> State:
        other = State(dict(self.names), dict(self.pending), set(self.on_device))
        other.on_host = set(self.on_host)
        other.waited = set(self.waited)
        other.made = set(self.made)
        other.parts_read = set(self.parts_read)
        return other

    def join(self, other: State) -> None:
        for name, copies in other.names.items():
            self.names[name] = self.names.get(name, NO_COPIES) | copies
        for copy, doubt in other.pending.items():
            self.pending[copy] = self.pending.get(copy, False) or doubt
        self.on_device |= other.on_device
        self.on_host &= other.on_host
        self.waited &= other.waited
        self.made |= other.made
        self.parts_read &= other.parts_read
