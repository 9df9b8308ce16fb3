"""What is read of a module that the file at hand only follows: its definitions, by looking into them, and its text, by
questions. Where neither gives another answer than before, the module may have changed: the same is found in the file.
"""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.deferred import hide_again, look_into

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Hashable
    from typing import Any, TypeVar

    _T = TypeVar("_T")

    TextQuery = tuple[str, str]  # its kind, and what it is about (see module_text.py)


class Part(NamedTuple):
    """What some work has read."""

    definitions: tuple[ast.stmt, ...]
    queries: frozenset[TextQuery]
    is_all: bool  # whatever is changed in the module then, the work may give something else


class ReadSet:
    """Since the file at hand was begun."""

    def __init__(self) -> None:
        self.definitions: list[ast.stmt] = []
        self.queries: set[TextQuery] = set()
        self.is_all = False
        self._repeated: set[Hashable] = set()

    def looks_into(self, node: ast.stmt) -> None:
        self.definitions.append(node)

    def forget(self) -> None:
        hide_again(self.definitions)
        self.definitions, self.queries, self._repeated, self.is_all = [], set(), set(), False

    def repeat(self, key: Hashable, part: Part) -> None:
        """What was read for an earlier file, and is not read again as it is known what it gives."""
        if key not in self._repeated:
            self._repeated.add(key)
            self.queries |= part.queries
            self.is_all |= part.is_all
            for node in part.definitions:
                look_into(node)

    def during(self, work: Callable[..., _T], arguments: tuple[object, ...]) -> tuple[_T, Part]:
        """What work gives, and what it reads, be it read already for the file at hand or not."""
        before = self.definitions, self.queries, self._repeated, self.is_all
        self.forget()
        try:
            result = work(*arguments)
        finally:
            part = Part(tuple(self.definitions), frozenset(self.queries), self.is_all)
            definitions, queries, repeated, is_all = before
            self.definitions += definitions
            self.queries |= queries
            self._repeated |= repeated
            self.is_all |= is_all
        return result, part


class WorkedOut:
    """What is worked out of a module once, for all files; `read_set` is None where it is not recorded what is read."""

    def __init__(self, read_set: ReadSet | None) -> None:
        self._read_set = read_set
        self._known: dict[Hashable, Any] = {}
        self._read: dict[Hashable, Part] = {}

    def of(self, key: Hashable, work: Callable[..., _T], *arguments: object) -> _T:
        """What `work` makes of the arguments."""
        if key not in self._known:
            if self._read_set is None:
                self._known[key] = work(*arguments)
            else:
                self._known[key], self._read[key] = self._read_set.during(work, arguments)
        elif self._read_set is not None:
            self._read_set.repeat(key, self._read[key])
        found: _T = self._known[key]
        return found
