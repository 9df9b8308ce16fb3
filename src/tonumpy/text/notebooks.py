"""Represents a Jupyter notebook as a Source: its code cells as one module, with the way back to cell and JSON.

The cells follow each other in their order, each on rows of its own, so that names of one are known in the later ones.
IPython syntax is replaced row by row (see magics.py), code that is not Python by empty rows.
"""

from __future__ import annotations

import ast
import codecs
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from os.path import abspath
from typing import NamedTuple

from tonumpy.findings import Cell, Edit, Explanation, Finding, Ground, Position, SourceError
from tonumpy.text.magics import python_of
from tonumpy.text.notebook_json import CodeCell, Piece, place, position_in, read_cells, sources_in
from tonumpy.text.recursion import note_cut_file
from tonumpy.text.source import Source, parse

SUFFIX = ".ipynb"

_NO_NEWLINE = re.compile(r"[^\r\n]")
_CODE_OR_ROWS = re.compile(r"`[^`]*`|\blines? (\d+(?:, \d+)*)")  # in a message
_FIRST_CODE = re.compile(r"^([ \t]*)[^\s#]", re.MULTILINE)


class _Part(NamedTuple):
    """A code cell with its own source, and its part of the module: the text, the module's row of the cell's first row,
    and how many rows are added before that."""

    cell: CodeCell
    source: Source
    text: str
    row: int
    added: int

    @property
    def row_count(self) -> int:
        return len(self.source.line_starts)

    def row_in_cell(self, row: int) -> int:
        return row - self.row + 1

    def in_cell(self, position: Position) -> Position:
        return position._replace(row=self.row_in_cell(position.row))


class Notebook(Source):
    """The source of a notebook. `skipped` are the errors of the cells that cannot be parsed; the others are checked.

    The constructor raises SourceError if the notebook cannot be read, or is not a Python notebook.
    """

    def __init__(self, data: bytes, filename: str) -> None:
        # A coding cookie means nothing in JSON.
        super().__init__(data, filename, "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8")
        self._read(self.text)

    @classmethod
    def from_document(cls, document: str, filename: str) -> Notebook:
        notebook = cls.from_text("", filename)
        notebook._read(document)
        return notebook

    @classmethod
    def from_cells(cls, cells: Iterable[str], filename: str) -> Notebook:
        """A notebook open in an editor: Python cells, counted from 1, without a JSON text."""
        notebook = cls.from_text("", filename)
        notebook._join(CodeCell(number, text) for number, text in enumerate(cells, 1))
        return notebook

    def _read(self, document: str) -> None:
        self.data = None  # of which the text is no longer the whole
        self._document = document
        self._join(read_cells(document, self.filename))

    def _join(self, cells: Iterable[CodeCell]) -> None:
        parts, row = [], 1
        for cell in cells:
            source, added = Source.from_text(cell.source, self.filename), 0
            text = python_of(cell.source)
            if text is None:
                text = "\n" * (len(source.line_starts) - 1)
            elif (first := _FIRST_CODE.search(text)) and first[1]:
                text = f"if 1:\n{text}"  # IPython would remove the indentation
                added = 1
            parts.append(_Part(cell, source, text, row + added, added))
            row += added + parts[-1].row_count
        self._parts = parts
        self._rows = [part.row for part in parts]
        self.cell_rows = tuple(self._rows)
        self.text = "".join(f"{part.text}\n" for part in parts)

    @cached_property
    def tree(self) -> ast.Module:
        """The tree of the cells that can be parsed; in `text`, the others are then replaced by as many rows."""
        body: list[ast.stmt] = []
        errors, texts = [], []
        for part in self._parts:
            blank_rows = part.row - part.added - 1  # so that its nodes have their rows in the module
            try:
                # With the notebook's name, Python would look up the row of an error in that file.
                body += parse("\n" * blank_rows + part.text, "<cell>").body
                texts.append(part.text)
            except SourceError as error:
                if isinstance(error.__cause__, RecursionError):
                    note_cut_file(self.filename)
                row, column = error.position or (1, 1)
                place = Position(max(part.row_in_cell(row), 1), column)
                errors.append(SourceError(self.filename, error.reason, place, part.cell.number))
                texts.append(_NO_NEWLINE.sub(" ", part.text))
        self.skipped = tuple(errors)
        self.text = "".join(f"{text}\n" for text in texts)
        return ast.Module(body, [])

    def _part_at(self, row: int) -> _Part:
        """The part that contains a row; an indented cell has one more row before its own."""
        at = bisect_right(self._rows, row)
        starts_here = at < len(self._parts) and self._parts[at].row - self._parts[at].added == row
        return self._parts[at if starts_here else max(at - 1, 0)]

    def cell_at(self, row: int) -> tuple[int, int]:
        part = self._part_at(row)
        return part.cell.number, part.row

    def has_run(self, row: int) -> bool:
        return self._part_at(row).cell.has_run

    def cell(self, number: int) -> str:
        """The source of a code cell, as it is in the notebook."""
        return next((part.cell.source for part in self._parts if part.cell.number == number), "")

    def removable_line(self, row: int) -> str:
        part = self._part_at(row)
        is_last = part.row_in_cell(row) == part.row_count
        return self.line(row).removesuffix("\n") if is_last else self.line(row)

    @property
    def document(self) -> str:
        return self._document

    def placed(self, finding: Finding) -> Finding:
        part, fix = self._part_at(finding.start.row), finding.fix
        if fix is not None:
            edits = (Edit(part.in_cell(start), part.in_cell(end), content) for start, end, content in fix.edits)
            fix = fix._replace(edits=tuple(edits))
        start, stop = (self._offset_in_document(part, place) for place in (finding.start, finding.end))
        cell = Cell(part.cell.number, position_in(self._document, start), position_in(self._document, stop))
        start_in_cell, end_in_cell = part.in_cell(finding.start), part.in_cell(finding.end)
        placed = finding._replace(start=start_in_cell, end=end_in_cell, fix=fix, cell=cell)
        message, brief = self._worded(finding.message), self._worded(finding.brief)
        return placed._replace(message=message, brief=brief, evidence=tuple(map(self.placed_ground, finding.evidence)))

    def _worded(self, message: str) -> str:
        """The message with the rows that it names, outside of code, as rows of their cells."""

        def in_cells(found: re.Match[str]) -> str:
            return found[0] if found[1] is None else ", ".join(map(self._row_in_words, found[1].split(", ")))

        return _CODE_OR_ROWS.sub(in_cells, message)

    def _row_in_words(self, row: str) -> str:
        part = self._part_at(int(row))
        return f"line {part.row_in_cell(int(row))} of cell {part.cell.number}"

    def placed_ground(self, ground: Ground) -> Ground:
        """The ground with the row in its cell; one in another notebook, whose cells are unknown here, loses its row."""
        if not ground.row or not ground.filename.endswith(SUFFIX):
            return ground
        if abspath(ground.filename) != abspath(self.filename):
            return ground._replace(row=0)
        part = self._part_at(ground.row)
        row, message = part.row_in_cell(ground.row), self._worded(ground.message)
        return ground._replace(row=row, cell=part.cell.number, message=message)

    def explained(self, explanation: Explanation) -> Explanation:
        part = self._part_at(explanation.start.row)
        answers = (each._replace(grounds=tuple(map(self.placed_ground, each.grounds))) for each in explanation.answers)
        start = part.in_cell(explanation.start)
        placed = explanation._replace(start=start, answers=tuple(answers), cell=part.cell.number)
        return placed._replace(findings=tuple(map(self.placed, explanation.findings)))

    def row_of(self, cell: int | None, row: int) -> int:
        if cell is None:
            raise ValueError("name a cell of the notebook: FILE:cell NUMBER:ROW")
        part = next((part for part in self._parts if part.cell.number == cell), None)
        if part is None:
            raise ValueError(f"cell {cell} is not a code cell")
        if not 1 <= row <= part.row_count:
            raise ValueError(f"cell {cell} has no row {row}")
        return part.row + row - 1

    @cached_property
    def _sources(self) -> list[tuple[Piece, ...]]:
        """The source of each cell in the JSON text."""
        return sources_in(self._document)

    def _offset_in_document(self, part: _Part, position: Position, *, is_end: bool = False) -> int:
        offset = part.source.offset(part.in_cell(position))
        piece, count = place(self._sources[part.cell.number - 1], offset, is_end=is_end)
        return piece.offset(self._document, count)

    def edited(self, text: str, edits: Sequence[Edit]) -> Notebook:
        """The notebook after these edits of its module; all else in its JSON text stays as it is."""
        pieces, at = [], 0
        for edit in edits:
            part = self._part_at(edit.start.row)
            start = self._offset_in_document(part, edit.start)
            pieces += [self._document[at:start], self._written(self._sources[part.cell.number - 1], edit.content)]
            at = start if edit.start == edit.end else self._offset_in_document(part, edit.end, is_end=True)
        document = "".join((*pieces, self._document[at:]))
        after = Notebook.from_document(document, self.filename)
        after.encoding = self.encoding
        after.tree  # noqa: B018 which blanks the cells that cannot be parsed
        if after.text != text or _without_sources(document) != _without_sources(self._document):
            reason = "the notebook does not hold the new code"
            raise SourceError(self.filename, f"not rewritten because of a bug in tonumpy, please report it: {reason}")
        return after

    def _written(self, source: tuple[Piece, ...], content: str) -> str:
        """The content of an edit as JSON; a new row becomes a string of its own if the source has one string a row."""
        lines = [
            json.dumps(line)[1:-1] for line in (*content.splitlines(keepends=True), *[""] * content.endswith("\n"))
        ]
        opening = self._document.rfind("[", 0, source[0].start) + 1
        before = self._document[opening : source[0].start]
        if before.strip():  # one string
            return "".join(lines)
        between = self._document[source[0].stop : source[1].start] if len(source) > 1 else f",{before}"
        return f'"{between}"'.join(lines)


def _without_sources(document: str) -> object:
    read = json.loads(document)
    return {**read, "cells": [{**cell, "source": type(cell.get("source"))} for cell in read["cells"]]}
