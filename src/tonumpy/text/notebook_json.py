"""Reads the code cells of a notebook from its JSON text, and finds the offsets of the strings of their source.

The offsets are computed only if there is something to report.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from tonumpy.findings import Position, SourceError
from tonumpy.text.recursion import note_cut_file

# One character of a string, as JSON writes it.
_CHARACTER = re.compile(
    r"[^\\]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL
)


class Piece(str):
    """The value of a JSON string, with the offset of its opening quote and the one after its closing quote."""

    start = stop = 0

    def offset(self, document: str, count: int) -> int:
        """The offset in the document of the character with index `count` in the string."""
        return _offsets(document, self.start, self.stop)[count]


@lru_cache(maxsize=2)  # a whole cell may be one string, in which many offsets are looked up
def _offsets(document: str, start: int, stop: int) -> list[int]:
    """The offset of each character of a string, and of its closing quote."""
    return [*(each.start() for each in _CHARACTER.finditer(document, start + 1, stop - 1)), stop - 1]


class CodeCell(NamedTuple):
    """`number` counts the cells of all kinds from 1, as ruff does.

    `has_run`: the notebook has the cell's output of a run without an error.
    """

    number: int
    source: str
    has_run: bool = False


def read_cells(document: str, filename: str) -> list[CodeCell]:
    """The Python code cells of a notebook; SourceError if it is not a Python notebook, or has an old format."""
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
    """The checked fields of a notebook: its cells are objects, and the source of each code cell is one string."""

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
    """The string under a path of keys in a JSON value; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _is_python(language: str | None) -> bool:
    """True if the language of a cell or notebook is Python or not named; Visual Studio Code names one in cells."""
    return language is None or language.lower() in ("python", "ipython", "python3", "ipython3")


def _has_run(cell: dict[str, Any]) -> bool:
    outputs = cell.get("outputs")
    if not isinstance(outputs, list) or not (outputs or isinstance(cell.get("execution_count"), int)):
        return False
    return not any(isinstance(each, dict) and each.get("output_type") == "error" for each in outputs)


def sources_in(document: str) -> list[tuple[Piece, ...]]:
    """The strings of each cell's source, with their offsets, in a document that `read_cells` has accepted."""
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
    """The piece that contains an offset in a source, and the index of the character in it.

    An offset between two pieces is the start of the second, or with `is_end` the end of the first.
    """
    for piece in pieces:
        if offset < len(piece) or (offset == len(piece) and (is_end or piece is pieces[-1])):
            return piece, offset
        offset -= len(piece)
    raise IndexError(offset)


def position_in(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
