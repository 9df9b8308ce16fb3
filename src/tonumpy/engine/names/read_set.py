"""Read sets: which definitions and text queries of a followed module the check of one file has read.

If neither gives another result than before, the findings of the file still hold although the module has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.text.deferred import hide_again, look_into

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Hashable
    from typing import Any, TypeVar

    _T = TypeVar("_T")

    TextQuery = tuple[str, str]  # its kind, and what it is about (see module_text.py)


class Part(NamedTuple):
    """The definitions and text queries that one computation has read."""

    definitions: tuple[ast.stmt, ...]
    queries: frozenset[TextQuery]
    is_all: bool  # whatever is changed in the module then, the work may give something else


class ReadSet:
    """What was read of one module since the current file was begun."""

    def __init__(self) -> None:
        self.definitions: list[ast.stmt] = []
        self.queries: set[TextQuery] = set()
        self.is_all = False
        self._repeated: set[Hashable] = set()

    def looks_into(self, node: ast.stmt) -> None:
        """Record that a definition was read."""
        self.definitions.append(node)

    def forget(self) -> None:
        """Begin another file: nothing was read."""
        hide_again(self.definitions)
        self.definitions, self.queries, self._repeated, self.is_all = [], set(), set(), False

    def repeat(self, key: Hashable, part: Part) -> None:
        """Record the read set `part` of a memoised computation, as if it were computed again."""
        if key not in self._repeated:
            self._repeated.add(key)
            self.queries |= part.queries
            self.is_all |= part.is_all
            for node in part.definitions:
                look_into(node)

    def during(self, work: Callable[..., _T], arguments: tuple[object, ...]) -> tuple[_T, Part]:
        """The result of `work`, and its read set, even if all of it was read before."""
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
    """A memo of computations on one module, shared by all files; `read_set` is None if reads are not recorded."""

    def __init__(self, read_set: ReadSet | None) -> None:
        self._read_set = read_set
        self._known: dict[Hashable, Any] = {}
        self._read: dict[Hashable, Part] = {}

    def of(self, key: Hashable, work: Callable[..., _T], *arguments: object) -> _T:
        """The memoised result of `work(*arguments)`; its read set counts for each file that asks."""
        if key not in self._known:
            if self._read_set is None:
                self._known[key] = work(*arguments)
            else:
                self._known[key], self._read[key] = self._read_set.during(work, arguments)
        elif self._read_set is not None:
            self._read_set.repeat(key, self._read[key])
        found: _T = self._known[key]
        return found
