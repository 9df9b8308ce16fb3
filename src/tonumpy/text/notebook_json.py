"""Reads the code cells of a notebook from its JSON text, and where in that text each piece of their source stands.

The pieces are looked for only where there is something to report.
"""

import json
import re
from collections.abc import Iterator, Sequence
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, NamedTuple

# What stands for characters in a string: any number of plain ones, or an escape for one.
_CHARACTERS = re.compile(
    r"(?P<plain>[^\\]+)|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
)


class Piece(str):
    """A string of the JSON text: what it means, the offset of its first quote and the one behind its last."""

    start = stop = 0

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


def sources_in(document: str) -> list[tuple[Piece, ...]]:
    """The strings that the source of each cell consists of, as they stand in a text that `read_document` has read."""
    decoder: Any = json.JSONDecoder()
    plain = decoder.parse_string

    def placed(text: str, begin: int, strict: bool) -> tuple[Piece, int]:
        value, stop = plain(text, begin, strict)
        piece = Piece(value)
        piece.start, piece.stop = begin - 1, stop
        return piece, stop

    decoder.parse_string = placed
    decoder.scan_once = py_make_scanner(decoder)
    sources = (cell.get("source", ()) for cell in decoder.decode(document).get("cells", ()))
    return [(each,) if isinstance(each, Piece) else tuple(each) for each in sources]


def place(pieces: Sequence[Piece], offset: int, *, is_end: bool = False) -> tuple[Piece, int]:
    """The piece, and the number of characters before it there, that an offset in a source stands in.

    Between two pieces it is the beginning of the second, but the end of the first for what ends there.
    """
    for piece in pieces:
        if offset < len(piece) or (offset == len(piece) and (is_end or piece is pieces[-1])):
            return piece, offset
        offset -= len(piece)
    raise IndexError(offset)
