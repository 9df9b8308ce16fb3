"""What a walk over a function knows at one point: the copies that names hold, and those that are on their way."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import path_of
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tonumpy.text.candidates import Scope, Site
    from tonumpy.text.source import Source


class Copy(NamedTuple):
    """An asynchronous copy: its call, the calls of helpers through which it was made (the outermost first), the stream
    that it was put on, empty for the current one, and whether a loop has come round since."""

    call: ast.Call
    scopes: tuple[Scope, ...]
    source: ast.expr
    through: tuple[ast.Call, ...] = ()
    stream: str = ""
    is_old: bool = False


Copies = frozenset[Copy]
NO_COPIES: Copies = frozenset()


class Read(NamedTuple):
    """The first read of a copy on one path. `is_doubtful`: a function out of sight was called since, which may have
    waited. `others`: further copies are on their way as well."""

    copy: Copy
    node: ast.expr
    site: Site
    is_doubtful: bool
    others: bool


class State:
    """What names hold, and the copies that are on their way, each with whether that is in doubt."""

    def __init__(self, names: dict[str, Copies], pending: dict[Copy, bool], on_device: set[str]) -> None:
        self.names = names
        self.pending = pending
        self.on_device = on_device  # names of what is, or is made of, a tensor that is copied to the host
        self.waited: set[str] = set()  # streams that the current one waits for

    def copied(self) -> State:
        other = State(dict(self.names), dict(self.pending), set(self.on_device))
        other.waited = set(self.waited)
        return other

    def join(self, other: State) -> None:
        for name, copies in other.names.items():
            self.names[name] = self.names.get(name, NO_COPIES) | copies
        for copy, doubt in other.pending.items():
            self.pending[copy] = self.pending.get(copy, False) or doubt
        self.on_device |= other.on_device
        self.waited &= other.waited


class Imports(NamedTuple):
    """The names that are imported from libraries whose functions read what they are given, and those from torch."""

    arrays: frozenset[str]
    torch: frozenset[str]


class Helpers:
    """The functions of a module: which makes copies, itself or by another, and which waits."""

    def __init__(self, found: Mapping[tuple[str, str], Helper], makers: frozenset[ast.AST], source: Source) -> None:
        self._found = found
        self._makers = makers
        self._source = source

    def called(self, function: ast.expr, scopes: tuple[Scope, ...]) -> Helper | None:
        """The function or method of the module that this names, seen from there."""
        name = path_of(function) or ""
        owner, _, method = name.rpartition(".")
        if owner in ("self", "cls"):
            cls = next((each.name for each in reversed(scopes) if isinstance(each, ast.ClassDef)), "")
            return self._found.get((cls, method))
        return None if owner else self._found.get(("", name))

    def makes_copies(self, helper: Helper) -> bool:
        return helper.node in self._makers

    def waits(self, helper: Helper) -> bool:
        """Whether its text has something that may wait."""
        text = self._source.text_of(helper.node)
        return any(word in text for word in ("synchronize", ".item(", ".cpu(", ".tolist(", "force=True"))


class Helper(NamedTuple):
    """A function, with the scopes around and of it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    scopes: tuple[Scope, ...]
