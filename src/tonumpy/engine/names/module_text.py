"""Text queries on a module, answered without a parse: whether and where a word, a pattern or a write occurs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.names.attributes_in_text import others_write, rows_that_may_write
from tonumpy.text.uncommented import shows

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from tonumpy.text.source import Source


SIZE_UNIT = 500  # characters


class Text:
    """Answers text queries, each computed once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows: dict[tuple[str, str], list[int]] = {}
        self._answers: dict[tuple[str, str], bool] = {}
        self._written: dict[int, dict[str, list[int]]] = {}  # in a class, by the id of its node

    @property
    def whole(self) -> str:
        return self._source.text

    @property
    def size(self) -> int:
        """The length in units of 500 characters."""
        return len(self._source.text) // SIZE_UNIT

    @property
    def is_notebook(self) -> bool:
        return self._source.cell_rows is not None

    def rows_with_name(self, name: str) -> list[int]:
        """The rows (from 1, ascending) in which a name stands by itself or between dots."""
        return self.rows("name", name)

    def rows_that_may_write(self, node: ast.ClassDef, name: str) -> list[int]:
        """The rows of a class in which an attribute of this name may be written."""
        if id(node) not in self._written:
            self._written[id(node)] = rows_that_may_write(node, self._source)
        return self._written[id(node)].get(name, [])

    def rows(self, kind: str, about: str) -> list[int]:
        """The rows in which a "name" or a "text" stands, or what a "pattern" looks for."""
        question = kind, about
        if question not in self._rows:
            find = {"name": self._source.rows_with_name, "pattern": self._source.rows_matching}
            self._rows[question] = find.get(kind, self._source.rows_with)(about)
        return self._rows[question]

    def says(self, kind: str, about: str) -> bool:
        """True if the text "holds" a word; if its code, and no comment or docstring, "shows" a pattern; or if it
        "writes" an attribute of this name of anything but `self`."""
        question = kind, about
        if question not in self._answers:
            self._answers[question] = ANSWERS[kind](self._source.text, about)
        return self._answers[question]

    def of(self, node: ast.stmt) -> str:
        """The text of a definition, or of another statement."""
        return self._source.text_of(node)


ANSWERS: dict[str, Callable[[str, str], bool]] = {
    "shows": lambda text, pattern: shows(pattern, text),
    "writes": others_write,
    "holds": lambda text, word: word in text,
}
