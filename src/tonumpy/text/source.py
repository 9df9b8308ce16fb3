"""A text with its lines and syntax tree, and the one place that turns ast's byte columns into positions."""

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


MAX_SEARCHES = 24  # for names, from which on a text has an index


class Source:
    """The text of one file with what is derived from it; nothing in it changes after construction.

    The constructor raises SourceError where the bytes cannot be decoded, `tree` where the text cannot be parsed.
    """

    cell_rows: tuple[int, ...] | None = None  # where the cells of a notebook begin
    _searches = 0
    skipped: tuple[SourceError, ...] = ()  # what of the file could not be parsed, where the rest still could

    def __init__(self, data: bytes, filename: str, encoding: str | None = None) -> None:
        self.filename = filename
        self.data: bytes | None = data
        self.encoding = encoding or declared_encoding(data, filename)
        try:
            self.text = data.decode(self.encoding)
        except UnicodeDecodeError as error:
            read = error.object  # without the mark of the byte order
            row = read.count(b"\n", 0, error.start) + 1
            column = error.start - read.rfind(b"\n", 0, error.start)
            reason = f"cannot be decoded as {self.encoding}: {error.reason} (byte 0x{read[error.start]:02x})"
            raise SourceError(filename, reason, Position(row, column)) from error
        except (LookupError, UnicodeError) as error:  # a codec of Python's that is for something else than text
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
        """The content of the file: the text itself, but for a notebook."""
        return self.text

    def placed(self, finding: Finding) -> Finding:
        """A finding in the text as it is to be reported: one in a notebook with the cell and its place in it."""
        return finding

    def placed_ground(self, ground: Ground) -> Ground:
        """The ground of a finding, placed as `placed` places the finding."""
        return ground

    def explained(self, explanation: Explanation) -> Explanation:
        """An explanation, placed as `placed` places findings."""
        return explanation

    def cell_at(self, row: int) -> tuple[int, int]:  # noqa: ARG002
        """The number of the cell that a row of the text belongs to, and the row of its first; a module is as one."""
        return 1, 1

    def has_run(self, row: int) -> bool:  # noqa: ARG002
        """True if a row stands in a cell that keeps what a run of it gave, which came to its end."""
        return False

    def row_of(self, cell: int | None, row: int) -> int:
        """The row of the text that a user means by a row, or by one of a cell; ValueError where there is none."""
        if cell is not None:
            raise ValueError("it has no cells")
        return row

    def edited(self, text: str, edits: Sequence[Edit]) -> Source:  # noqa: ARG002
        """The source with a new text, which these edits have made of the old one."""
        return Source.from_text(text, self.filename)

    def encode(self, text: str) -> bytes:
        """The bytes of a changed text, in the encoding and with the byte order mark that the file had."""
        return text.encode(self.encoding)

    @property
    def survives_encoding(self) -> bool:
        """True if the unchanged text gives the file's bytes again; some encodings write a character in two ways."""
        return self.data is None or self.encode(self.text) == self.data

    @cached_property
    def tree(self) -> ast.Module:
        if len(self.text) > MAX_LENGTH:  # the tree takes some two hundred times as much memory
            reason = f"is longer than {MAX_LENGTH} characters, so it is not parsed"
            raise SourceError(self.filename, reason, Position(1, 1))
        return parse(self.text, self.filename)

    @cached_property
    def line_starts(self) -> list[int]:
        """The offset of the first code point of each line; only the newlines that Python knows end a line."""
        if "\r" in self.text:
            return [0, *(match.end() for match in NEWLINE.finditer(self.text))]
        # The usual case, in half the time.
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n")[:-1])]

    def line(self, row: int) -> str:
        """Line `row` (from 1) with its newline."""
        starts = self.line_starts
        return self.text[starts[row - 1] : starts[row] if row < len(starts) else len(self.text)]

    def removable_line(self, row: int) -> str:
        """Line `row` as far as it can be taken out: in a notebook, the last newline of a cell is none of its source."""
        return self.line(row)

    def offset(self, position: Position) -> int:
        return self.line_starts[position.row - 1] + position.column - 1

    def position_at(self, offset: int) -> Position:
        row = bisect_right(self.line_starts, offset)
        return Position(row, offset - self.line_starts[row - 1] + 1)

    def says(self, pattern: str) -> bool:
        """True if the text holds what a pattern looks for, other than in a comment or a docstring."""
        return shows(pattern, self.text)

    def rows_matching(self, pattern: str) -> list[int]:
        """The rows (from 1, ascending) in which something ends that a pattern looks for."""
        return [bisect_right(self.line_starts, match.end() - 1) for match in re.finditer(pattern, self.text)]

    def rows_with(self, needle: str) -> list[int]:
        """The rows (from 1, ascending) that hold a text, or begin to."""
        return [bisect_right(self.line_starts, match.start()) for match in re.finditer(re.escape(needle), self.text)]

    def rows_with_name(self, name: str) -> list[int]:
        """The rows (from 1, ascending) in which a name, which is not empty, stands by itself or between dots."""
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
        """An index, for a text that is asked for many names: each search alone goes through all of it."""
        found: dict[str, list[int]] = {}
        for row, start in enumerate(self.line_starts, 1):
            stop = self.line_starts[row] if row < len(self.line_starts) else len(self.text)
            for word in _WORD.findall(self.text, start, stop):
                found.setdefault(word, []).append(row)
        return found

    def ast_position(self, row: int, byte_column: int) -> Position:
        """The position of an ast `lineno` and `col_offset`; the latter counts UTF-8 bytes from 0."""
        if self.text.isascii():  # which Python knows of a text; a line would have to be cut out of it
            return Position(row, byte_column + 1)
        if row not in self._character_starts:
            line = self.line(row)
            self._character_starts[row] = [0, *accumulate(len(each.encode(errors="surrogatepass")) for each in line)]
        starts = self._character_starts[row]
        return Position(row, min(bisect_left(starts, byte_column) + 1, len(starts)))

    @cached_property
    def _character_starts(self) -> dict[int, list[int]]:
        """The bytes at which the characters of each row that was asked for begin."""
        return {}

    def extent(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        """The offsets of the start of a node and of the place just after it."""
        return self.offset(self.node_start(node)), self.offset(self.node_end(node))

    def text_of(self, node: ast.stmt | ast.expr) -> str:
        start, stop = self.extent(node)
        return self.text[start:stop]

    def node_start(self, node: ast.stmt | ast.expr) -> Position:
        return self.ast_position(node.lineno, node.col_offset)

    def node_end(self, node: ast.stmt | ast.expr) -> Position:
        """The position just after a node; brackets that only group are no part of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.ast_position(node.end_lineno, node.end_col_offset)

    def name_start(self, attribute: ast.Attribute) -> Position | None:
        """The position of an attribute's own name; None where the text there is another: ast's position is wrong."""
        assert attribute.end_lineno is not None
        if attribute.end_lineno > len(self.line_starts):
            return None
        end = self.node_end(attribute)
        start = Position(end.row, end.column - len(attribute.attr))
        found = start.column > 0 and self.text.startswith(attribute.attr, self.offset(start))
        return start if found else None


def declared_encoding(data: bytes, filename: str) -> str:
    """The encoding that PEP 263 gives the file: the cookie in one of its first two lines, else UTF-8."""
    try:
        # By all line ends that Python knows, of which a stream of bytes knows one.
        return tokenize.detect_encoding(iter(data.splitlines(keepends=True)).__next__)[0]
    except SyntaxError as error:
        if "missing" in error.msg:  # the first lines are no UTF-8: to decode them tells where
            return "utf-8"
        raise SourceError(filename, f"cannot be decoded: {error.msg}", Position(1, 1)) from error


def parse(text: str, filename: str) -> ast.Module:
    """ast.parse with every way in which it can fail turned into a SourceError."""
    try:
        # A tree is all live objects: collecting while it grows only costs (9 to 13 % of the parse).
        with Paused(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not ours to report
            return ast.parse(text, filename)
    except SyntaxError as error:
        place = Position(error.lineno or 1, error.offset or 1)
        running = ".".join(map(str, sys.version_info[:2]))  # the file may be for a newer one
        raise SourceError(filename, f"cannot be parsed: {error.msg} (Python {running})", place) from error
    except ValueError as error:  # a null byte, or a lone surrogate, which a text that was never bytes may hold
        raise SourceError(filename, f"cannot be parsed: {error}", Position(1, 1)) from error
    except (RecursionError, MemoryError) as error:
        note_cut_file(filename)
        reason = "cannot be parsed: nested too deeply for Python's parser"
        raise SourceError(filename, reason, Position(1, 1)) from error
