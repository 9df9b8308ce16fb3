"""Text queries on a module, answered without a parse."""

from __future__ import annotations

from tonumpy.text.source import Source

SIZE_UNIT = 500  # characters


class Text:
    """Answers text queries."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def size(self) -> int:
        """The length in units of 500 characters."""
        return len(self._source.text) // SIZE_UNIT

    @property
    def is_notebook(self) -> bool:
        return self._source.cell_rows is not None

    def rows_with_name(self, name: str) -> list[int]:
        """The rows (from 1, ascending) in which a name stands by itself or between dots."""
        return self._source.rows_with_name(name)

    def rows_matching(self, pattern: str) -> list[int]:
        """The rows (from 1, ascending) in which what a pattern looks for stands."""
        return self._source.rows_matching(pattern)

    def shows(self, pattern: str) -> bool:
        """True if its code, and no comment or docstring, shows a pattern."""
        return self._source.says(pattern)
