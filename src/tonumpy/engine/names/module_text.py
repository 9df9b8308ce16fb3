"""Text queries on a module, answered without a parse: whether and where a word, a pattern or a write occurs."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.engine.names.attributes_in_text import others_write, rows_that_may_write
from tonumpy.text.deferred import look_into, watched_in
from tonumpy.text.syntax import walk
from tonumpy.text.uncommented import shows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.engine.names.read_set import ReadSet, TextQuery
    from tonumpy.text.source import Source


SIZE_UNIT = 500  # characters


class Text:
    """Answers text queries, each computed once; `read_set` records each query whenever it is asked."""

    def __init__(self, source: Source, read_set: ReadSet | None) -> None:
        self._source = source
        self._read_set = read_set
        self._rows: dict[TextQuery, list[int]] = {}
        self._answers: dict[TextQuery, bool] = {}
        self._written: dict[int, dict[str, list[int]]] = {}  # in a class, by the id of its node

    @property
    def whole(self) -> str:
        """For those who record themselves what they read of it."""
        return self._source.text

    @property
    def size(self) -> int:
        """So coarse that few changes change it."""
        return len(self._source.text) // SIZE_UNIT

    @property
    def is_notebook(self) -> bool:
        return self._source.cell_rows is not None

    def rows_with_name(self, name: str) -> list[int]:
        """The rows (from 1, ascending) in which a name stands by itself or between dots."""
        return self.rows("name", name)

    def rows_that_may_write(self, node: ast.ClassDef, name: str) -> list[int]:
        """Those of a class in which an attribute of this name may be written."""
        if self._read_set is not None and id(node) in self._places:  # the text of any other class is read anyway
            self._asked("written", f"{self._places[id(node)]} {name}")
        return self._rows_written(node, name)

    @cached_property
    def _places(self) -> dict[int, int]:
        """The numbers of the definitions that are looked into one by one, by the ids of their nodes."""
        return {id(node): place for place, node in enumerate(watched_in(self._source.tree.body))}

    def rows(self, kind: str, about: str) -> list[int]:
        """Those in which a name stands, a text or what a pattern looks for; or where an attribute may be written."""
        question = self._asked(kind, about)
        if question not in self._rows:
            self._rows[question] = self._find_rows(kind, about)
        return self._rows[question]

    def says(self, kind: str, about: str) -> bool:
        """Whether a text stands anywhere in it; whether its code, and no comment or docstring, shows a pattern; or
        whether it writes an attribute of this name of anything but `self`."""
        question = self._asked(kind, about)
        if question not in self._answers:
            self._answers[question] = ANSWERS[kind](self._source.text, about)
        return self._answers[question]

    def _asked(self, kind: str, about: str) -> TextQuery:
        question = kind, about
        if self._read_set is not None:
            self._read_set.queries.add(question)
        return question

    def of(self, node: ast.stmt) -> str:
        """That of a definition, or of another statement."""
        if self._read_set is not None:
            for each in walk(node):
                look_into(each)
        return self._source.text_of(node)

    def _find_rows(self, kind: str, about: str) -> list[int]:
        if kind == "name":
            return self._source.rows_with_name(about)
        if kind == "pattern":
            return self._source.rows_matching(about)
        if kind == "text":
            return self._source.rows_with(about)
        place, name = about.split(" ")
        node = watched_in(self._source.tree.body)[int(place)]
        assert isinstance(node, ast.ClassDef)
        return self._rows_written(node, name)

    def _rows_written(self, node: ast.ClassDef, name: str) -> list[int]:
        if id(node) not in self._written:
            self._written[id(node)] = rows_that_may_write(node, self._source)
        return self._written[id(node)].get(name, [])


ANSWERS: dict[str, Callable[[str, str], bool]] = {
    "shows": lambda text, pattern: shows(pattern, text),
    "writes": others_write,
    "holds": lambda text, word: word in text,
}
