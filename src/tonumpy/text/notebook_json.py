"""Reads the code cells of a notebook from its JSON text, and where in that text each piece of their source stands.

json reads each cell as a whole, outputs of megabytes too; its pieces are looked for where there is something to report.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()

# What stands for characters in a string: any number of plain ones, or an escape for one.
_CHARACTERS = re.compile(
    r"(?P<plain>[^\\]+)|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
)


class Piece(NamedTuple):
    """A string of the JSON text: what it means, the offset of its first quote and the one behind its last."""

    text: str
    start: int
    stop: int

    def offset(self, document: str, count: int) -> int:
        """The offset of the character before which there are `count` characters in the string."""
        at = self.start + 1
        while count:
            match = _CHARACTERS.match(document, at, self.stop - 1)
            assert match is not None
            plain = match["plain"]
            if plain is not None and len(plain) >= count:
                return at + count
            count -= 1 if plain is None else len(plain)
            at = match.end()
        return at


class CodeCell(NamedTuple):
    """`number` counts the cells of all kinds from 1, as ruff does. `start` is where it begins in the JSON text.

    `has_run`: the notebook keeps what a run of it gave, which came to its end.
    """

    number: int
    source: str
    start: int
    metadata: object
    has_run: bool = False


class Pieces(NamedTuple):
    """The strings that a source consists of. `start` is where it begins: its bracket, or the quote of a single one."""

    pieces: tuple[Piece, ...]
    start: int

    def place(self, offset: int, *, is_end: bool = False) -> tuple[int, int]:
        """The piece, and the number of characters before it there, that an offset in the source stands in.

        Between two pieces it is the beginning of the second, but the end of the first for what ends there.
        """
        for index, piece in enumerate(self.pieces):
            length = len(piece.text)
            if offset < length or (offset == length and (is_end or index == len(self.pieces) - 1)):
                return index, offset
            offset -= length
        raise IndexError(offset)


class Document(NamedTuple):
    """`fields` are what stands beside the cells."""

    cells: tuple[CodeCell, ...]
    fields: dict[str, Any]


class NotReadError(Exception):
    """The JSON text is none, or no notebook's: the reason and the offset."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason, offset)
        self.reason = reason
        self.offset = offset


def read_document(text: str) -> Document:
    reader = _Reader(text)
    cells: list[CodeCell] = []
    fields: dict[str, Any] = {}
    try:
        for key in reader.members():
            if key != "cells":
                fields[key] = reader.value()
            elif reader.peek() == "[":
                cells = list(_code_cells(reader))
            else:
                raise NotReadError("no notebook: its cells are no array", reader.at)
        reader.end()
    except json.JSONDecodeError as error:
        raise NotReadError(f"no JSON: {error.msg}", error.pos) from error
    except ValueError as error:
        raise NotReadError(f"no JSON that Python reads: {error}", reader.at) from error
    except RecursionError as error:
        raise NotReadError("nested too deeply", 0) from error
    return Document(tuple(cells), fields)


def _code_cells(reader: _Reader) -> Iterator[CodeCell]:
    for number, _ in enumerate(reader.items(), 1):
        start = reader.at
        cell = reader.value()
        if not isinstance(cell, dict):
            raise NotReadError("no notebook: a cell that is no object", start)
        if cell.get("cell_type") == "code":
            source = cell.get("source", "")
            try:
                text = source if isinstance(source, str) else "".join(source)
            except TypeError as error:
                raise NotReadError("no notebook: the source of a cell is no text", start) from error
            yield CodeCell(number, text, start, cell.get("metadata"), _has_run(cell))


def _has_run(cell: dict[str, Any]) -> bool:
    outputs = cell.get("outputs")
    if not isinstance(outputs, list) or not (outputs or isinstance(cell.get("execution_count"), int)):
        return False
    return not any(isinstance(each, dict) and each.get("output_type") == "error" for each in outputs)


def pieces_of(document: str, cell: CodeCell) -> Pieces:
    reader = _Reader(document, cell.start)
    found = Pieces((), cell.start)
    for key in reader.members():
        if key == "source":
            start = reader.at
            pieces = tuple(reader.string() for _ in reader.items()) if reader.peek() == "[" else (reader.string(),)
            found = Pieces(pieces, start)
        else:
            reader.value()
    return found


class _Reader:
    """Goes through a JSON text; `at` is where the next thing begins."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def value(self) -> Any:  # noqa: ANN401
        found, self.at = _DECODER.raw_decode(self.text, self.at)
        return found

    def string(self) -> Piece:
        start = self.at
        if self.peek() != '"':
            raise NotReadError('no JSON: `"` is missing', start)
        text = self.value()
        return Piece(text, start, self.at)

    def members(self) -> Iterator[str]:
        """The keys of an object; after each, its value must be read as well."""
        for _ in self._listed("{", "}"):
            key = self.string().text
            self._skip_space()
            self._take(":")
            self._skip_space()
            yield key

    def items(self) -> Iterator[None]:
        """The items of an array; for each, its value must be read as well."""
        return self._listed("[", "]")

    def end(self) -> None:
        self._skip_space()
        if self.at != len(self.text):
            raise NotReadError("no JSON: more follows its end", self.at)

    def _listed(self, opening: str, closing: str) -> Iterator[None]:
        self._skip_space()
        self._take(opening)
        self._skip_space()
        if self.peek() == closing:
            self.at += 1
            return
        while True:
            yield
            self._skip_space()
            if self.peek() == closing:
                self.at += 1
                return
            self._take(",")
            self._skip_space()

    def _take(self, character: str) -> None:
        if self.peek() != character:
            raise NotReadError(f"no JSON: `{character}` is missing", self.at)
        self.at += 1

    def _skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
