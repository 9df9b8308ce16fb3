"""Reads the code cells of a notebook from its JSON text, and where in that text each piece of their source stands.

The pieces are looked for only where there is something to report.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from tonumpy.findings import Position, SourceError
from tonumpy.text.recursion import note_cut_file

# What stands for one character in a string.
_CHARACTER = re.compile(
    r"[^\\]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL
)


class Piece(str):
    """A string of the JSON text: what it means, the offset of its first quote and the one behind its last."""

    start = stop = 0

    def offset(self, document: str, count: int) -> int:
        """The offset of the character before which there are `count` characters in the string."""
        return _offsets(document, self.start, self.stop)[count]


@lru_cache(maxsize=2)  # a cell may be one string, which is asked for many places
def _offsets(document: str, start: int, stop: int) -> list[int]:
    """The offset of each character of a string, and of the quote behind them."""
    return [*(each.start() for each in _CHARACTER.finditer(document, start + 1, stop - 1)), stop - 1]


class CodeCell(NamedTuple):
    """`number` counts the cells of all kinds from 1, as ruff does.

    `has_run`: the notebook keeps what a run of it gave, which came to its end.
    """

    number: int
    source: str
    has_run: bool = False


def read_cells(document: str, filename: str) -> list[CodeCell]:
    """The code cells of a notebook, but for those of another language; SourceError where it is no notebook of Python,
    or of a former format."""
    fields = _fields(document, filename)
    version = fields.get("nbformat")
    if not isinstance(version, int):
        raise SourceError(filename, "cannot be read as a notebook: its format has no version (`nbformat`)")
    if version < 4:
        remedy = "`jupyter nbconvert --to notebook` makes it one of 4"
        raise SourceError(filename, f"is not checked: a notebook of format {version}; {remedy}")
    metadata = fields.get("metadata")
    language = _text_in(metadata, "language_info", "name") or _text_in(metadata, "kernelspec", "language")
    if not _is_python(language):
        raise SourceError(filename, f"is not checked: a notebook of the language {language}")
    return [
        CodeCell(number, cell.get("source", ""), _has_run(cell))
        for number, cell in enumerate(fields.get("cells", ()), 1)
        if cell.get("cell_type") == "code" and _is_python(_text_in(cell.get("metadata"), "vscode", "languageId"))
    ]


def _fields(document: str, filename: str) -> dict[str, Any]:
    """The fields of a notebook, whose cells are objects, the source of each code cell one text."""

    def unread(reason: str, offset: int = 0) -> SourceError:
        return SourceError(filename, f"cannot be read as a notebook: {reason}", position_in(document, offset))

    try:
        fields = json.loads(document)
    except json.JSONDecodeError as error:
        raise unread(f"no JSON: {error.msg}", error.pos) from error
    except ValueError as error:
        raise unread(f"no JSON that Python reads: {error}") from error
    except RecursionError as error:
        note_cut_file(filename)
        raise unread("nested too deeply") from error
    cells = fields.get("cells", []) if isinstance(fields, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise unread("no notebook: it is no object with an array of cells")
    for number, cell in enumerate(cells, 1):
        try:
            cell["source"] = "".join(cell.get("source", "")) if cell.get("cell_type") == "code" else ""
        except TypeError as error:
            raise unread(f"no notebook: the source of cell {number} is no text") from error
    found: dict[str, Any] = fields
    return found


def _text_in(value: object, *keys: str) -> str | None:
    """The text below some keys of a JSON value; None where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _is_python(language: str | None) -> bool:
    """True for a cell or notebook of this language, or of none that is named; Visual Studio Code gives cells one."""
    return language is None or language.lower() in ("python", "ipython", "python3", "ipython3")


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


def position_in(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
