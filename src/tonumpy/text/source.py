"""Holds a text with its lines and syntax tree; the only place that turns ast's byte columns into positions."""

from __future__ import annotations

import ast
import re
import sys
import tokenize
import warnings
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from tonumpy.findings import Position, SourceError
from tonumpy.garbage import Paused
from tonumpy.text.recursion import note_cut_file
from tonumpy.text.uncommented import shows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from tonumpy.findings import Edit, Explanation, Finding, Ground

MAX_LENGTH = 4_000_000
NEWLINE = re.compile(r"\r\n|\r|\n")
_WORD = re.compile(r"\w+")


MAX_SEARCHES = 24  # for names, after which a text builds an index


class Source:
    """The text of one file, immutable, with lazily derived data.

    The constructor raises SourceError if the bytes cannot be decoded, `tree` if the text cannot be parsed.
    """

    cell_rows: tuple[int, ...] | None = None  # where the cells of a notebook begin
    _searches = 0
    skipped: tuple[SourceError, ...] = ()  # errors of parts that could not be parsed, if the rest could

    def __init__(self, data: bytes, filename: str, encoding: str | None = None) -> None:
        self.filename = filename
        self.data: bytes | None = data
        self.encoding = encoding or declared_encoding(data, filename)
        try:
            self.text = data.decode(self.encoding)
        except UnicodeDecodeError as error:
            read = error.object  # without the byte order mark
            row = read.count(b"\n", 0, error.start) + 1
            column = error.start - read.rfind(b"\n", 0, error.start)
            reason = f"cannot be decoded as {self.encoding}: {error.reason} (byte 0x{read[error.start]:02x})"
            raise SourceError(filename, reason, Position(row, column)) from error
        except (LookupError, UnicodeError) as error:  # a codec of Python's that is not for text
            reason = f"cannot be decoded as {self.encoding}: {error}"
            raise SourceError(filename, reason, Position(1, 1)) from error

    @classmethod
    def from_text(cls, text: str, filename: str, tree: ast.Module | None = None) -> Self:
        """Make a source of a text that a host (flake8) has already decoded and perhaps parsed."""
        source = cls.__new__(cls)
        source.filename, source.data, source.text = filename, None, text
        source.encoding = "utf-8"
        if tree is not None:
            source.__dict__["tree"] = tree
        return source

    @property
    def document(self) -> str:
        """The content of the file: the text itself; for a notebook its JSON."""
        return self.text

    def placed(self, finding: Finding) -> Finding:
        """The finding as it is reported: in a notebook, with the cell and the place in it."""
        return finding

    def placed_ground(self, ground: Ground) -> Ground:
        """The ground of a finding, with its place as in `placed`."""
        return ground

    def explained(self, explanation: Explanation) -> Explanation:
        """The explanation, with its places as in `placed`."""
        return explanation

    def cell_at(self, row: int) -> tuple[int, int]:  # noqa: ARG002
        """The number of the cell that contains a row, and the row of the cell's first; a module counts as one cell."""
        return 1, 1

    def has_run(self, row: int) -> bool:  # noqa: ARG002
        """True if the row is in a notebook cell that has the output of a run without an error."""
        return False

    def row_of(self, cell: int | None, row: int) -> int:
        """The row of the text for a row of the file, or of a cell; ValueError if there is none."""
        if cell is not None:
            raise ValueError("it has no cells")
        return row

    def edited(self, text: str, edits: Sequence[Edit]) -> Source:  # noqa: ARG002
        """The source with the text that results from these edits."""
        return Source.from_text(text, self.filename)

    def encode(self, text: str) -> bytes:
        """The bytes of a changed text, in the file's encoding and with its byte order mark."""
        return text.encode(self.encoding)

    @property
    def survives_encoding(self) -> bool:
        """True if encoding the unchanged text gives the file's bytes; some encodings write a character in two ways."""
        return self.data is None or self.encode(self.text) == self.data

    @cached_property
    def tree(self) -> ast.Module:
        if len(self.text) > MAX_LENGTH:  # the tree takes about two hundred times as much memory
            reason = f"is longer than {MAX_LENGTH} characters, so it is not parsed"
            raise SourceError(self.filename, reason, Position(1, 1))
        return parse(self.text, self.filename)

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of the first code point of each line; lines end as in Python's syntax only."""
        if "\r" in self.text:
            return [0, *(match.end() for match in NEWLINE.finditer(self.text))]
        # The usual case, in half the time.
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n")[:-1])]

    def line(self, row: int) -> str:
        """Line `row` (from 1) with its newline."""
        starts = self.line_starts
        return self.text[starts[row - 1] : starts[row] if row < len(starts) else len(self.text)]

    def removable_line(self, row: int) -> str:
        """The removable part of line `row`: in a notebook, the last newline of a cell is not in its source."""
        return self.line(row)

    def offset(self, position: Position) -> int:
        return self.line_starts[position.row - 1] + position.column - 1

    def position_at(self, offset: int) -> Position:
        row = bisect_right(self.line_starts, offset)
        return Position(row, offset - self.line_starts[row - 1] + 1)

    def says(self, pattern: str) -> bool:
        """True if the pattern matches in the text outside of comments and docstrings."""
        return shows(pattern, self.text)

    def rows_matching(self, pattern: str) -> list[int]:
        """The rows (from 1, ascending) in which matches of a pattern end."""
        return [bisect_right(self.line_starts, match.end() - 1) for match in re.finditer(pattern, self.text)]

    def rows_with(self, needle: str) -> list[int]:
        """The rows (from 1, ascending) in which occurrences of a text begin."""
        return [bisect_right(self.line_starts, match.start()) for match in re.finditer(re.escape(needle), self.text)]

    def rows_with_name(self, name: str) -> list[int]:
        """The rows (from 1, ascending) in which a non-empty name occurs as a whole word, alone or between dots."""
        self._searches += 1
        if self._searches > MAX_SEARCHES and re.fullmatch(r"\w+", name):
            return [*self._rows_of_words.get(name, ())]
        rows, at, length = [], self.text.find(name), len(name)
        while at != -1:
            before, after = self.text[at - 1 : at], self.text[at + length : at + length + 1]
            if not (before.isalnum() or after.isalnum() or "_" in (before, after)):
                rows.append(bisect_right(self.line_starts, at))
            at = self.text.find(name, at + length)
        return rows

    @cached_property
    def _rows_of_words(self) -> dict[str, list[int]]:
        """The rows of every word: an index, for texts with many searches, each of which would scan the whole text."""
        found: dict[str, list[int]] = {}
        for row, start in enumerate(self.line_starts, 1):
            stop = self.line_starts[row] if row < len(self.line_starts) else len(self.text)
            for word in _WORD.findall(self.text, start, stop):
                found.setdefault(word, []).append(row)
        return found

    def ast_position(self, row: int, byte_column: int) -> Position:
        """The position of an ast `lineno` and `col_offset`; the latter counts UTF-8 bytes from 0."""
        if self.text.isascii():  # quick, and saves slicing the line
            return Position(row, byte_column + 1)
        if row not in self._character_starts:
            line = self.line(row)
            self._character_starts[row] = [0, *accumulate(len(each.encode(errors="surrogatepass")) for each in line)]
        starts = self._character_starts[row]
        return Position(row, min(bisect_left(starts, byte_column) + 1, len(starts)))

    @cached_property
    def _character_starts(self) -> dict[int, list[int]]:
        """A cache: the byte columns of the characters, by row."""
        return {}

    def extent(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """The offsets of the start of a node and of the character after it."""
        return self.offset(self.node_start(node)), self.offset(self.node_end(node))

    def text_of(self, node: ast.stmt | ast.expr) -> str:
        start, stop = self.extent(node)
        return self.text[start:stop]

    def node_start(self, node: ast.stmt | ast.expr) -> Position:
        return self.ast_position(node.lineno, node.col_offset)

    def node_end(self, node: ast.stmt | ast.expr) -> Position:
        """The position just after a node, without grouping brackets."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.ast_position(node.end_lineno, node.end_col_offset)

    def name_start(self, attribute: ast.Attribute) -> Position | None:
        """The position of an attribute's own name; None if the text differs there, so ast's position is wrong."""
        assert attribute.end_lineno is not None
        if attribute.end_lineno > len(self.line_starts):
            return None
        end = self.node_end(attribute)
        start = Position(end.row, end.column - len(attribute.attr))
        found = start.column > 0 and self.text.startswith(attribute.attr, self.offset(start))
        return start if found else None


def declared_encoding(data: bytes, filename: str) -> str:
    """The encoding of a file by PEP 263: the cookie in one of its first two lines, else UTF-8."""
    try:
        # Split at all line ends of Python's syntax: a stream of bytes splits at newlines only.
        return tokenize.detect_encoding(iter(data.splitlines(keepends=True)).__next__)[0]
    except SyntaxError as error:
        if "missing" in error.msg:  # the first lines are not UTF-8: decoding them reports where
            return "utf-8"
        raise SourceError(filename, f"cannot be decoded: {error.msg}", Position(1, 1)) from error


def parse(text: str, filename: str) -> ast.Module:
    """`ast.parse`, with each of its errors turned into a SourceError."""
    try:
        # All objects of a tree are alive: collecting garbage while it grows only costs (9 to 13 % of the parse).
        with Paused(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not for us to report
            return ast.parse(text, filename)
    except SyntaxError as error:
        place = Position(error.lineno or 1, error.offset or 1)
        running = ".".join(map(str, sys.version_info[:2]))  # the file may be for a newer one
        raise SourceError(filename, f"cannot be parsed: {error.msg} (Python {running})", place) from error
    except ValueError as error:  # a null byte, or a lone surrogate in a text that was never bytes
        raise SourceError(filename, f"cannot be parsed: {error}", Position(1, 1)) from error
    except (RecursionError, MemoryError) as error:
        note_cut_file(filename)
        reason = "cannot be parsed: nested too deeply for Python's parser"
        raise SourceError(filename, reason, Position(1, 1)) from error
