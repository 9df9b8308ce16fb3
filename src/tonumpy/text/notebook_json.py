"""Reads the code cells of a notebook from its JSON text, and where in that text each piece of their source stands.

The pieces are looked for only where there is something to report.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_BETWEEN = re.compile(r"[ \t\n\r,:]*")
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
    """`number` counts the cells of all kinds from 1, as ruff does.

    `has_run`: the notebook keeps what a run of it gave, which came to its end.
    """

    number: int
    source: str
    metadata: object = None
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
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        raise NotReadError(f"no JSON: {error.msg}", error.pos) from error
    except ValueError as error:
        raise NotReadError(f"no JSON that Python reads: {error}", 0) from error
    except RecursionError as error:
        raise NotReadError("nested too deeply", 0) from error
    cells = fields.pop("cells", []) if isinstance(fields, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise NotReadError("no notebook: it is no object with an array of cells", 0)
    return Document(tuple(_code_cells(cells)), fields)


def _code_cells(cells: list[dict[str, Any]]) -> Iterator[CodeCell]:
    for number, cell in enumerate(cells, 1):
        if cell.get("cell_type") == "code":
            source = cell.get("source", "")
            try:
                text = source if isinstance(source, str) else "".join(source)
            except TypeError as error:
                raise NotReadError(f"no notebook: the source of cell {number} is no text", 0) from error
            yield CodeCell(number, text, cell.get("metadata"), _has_run(cell))


def _has_run(cell: dict[str, Any]) -> bool:
    outputs = cell.get("outputs")
    if not isinstance(outputs, list) or not (outputs or isinstance(cell.get("execution_count"), int)):
        return False
    return not any(isinstance(each, dict) and each.get("output_type") == "error" for each in outputs)


def sources_in(document: str) -> list[Pieces]:
    """The sources of all cells, in their order, as they stand in a text that `read_document` has read."""
    found: list[Pieces] = []
    for key, start in _members(document, 0):
        if key == "cells":
            found = [_source_of(document, cell) for cell in _items(document, start)]
    return found


def _source_of(document: str, cell: int) -> Pieces:
    found = Pieces((), cell)
    for key, start in _members(document, cell):
        if key == "source":
            starts = _items(document, start) if document[start] == "[" else [start]
            found = Pieces(tuple(_string(document, at) for at in starts), start)
    return found


def _string(text: str, at: int) -> Piece:
    said, stop = _DECODER.raw_decode(text, at)
    return Piece(said, at, stop)


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    """The keys of the object that begins there, and where their values begin."""
    at = _next(text, _next(text, at) + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _next(text, at)
        yield key, at
        at = _next(text, _DECODER.raw_decode(text, at)[1])


def _items(text: str, at: int) -> Iterator[int]:
    """Yield the offsets of the items of the array at an offset."""
    at = _next(text, at + 1)
    while text[at] != "]":
        yield at
        at = _next(text, _DECODER.raw_decode(text, at)[1])


def _next(text: str, at: int) -> int:
    """The offset of the next token, behind blanks, commas and colons."""
    match = _BETWEEN.match(text, at)
    assert match is not None
    return match.end()
