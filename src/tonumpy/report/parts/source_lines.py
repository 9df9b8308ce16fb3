"""Renders the lines of a finding, with carets under its place, and the same lines after the repair."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tonumpy.findings import Finding, Fix
from tonumpy.report.parts.terminal import BLUE, GREEN, PLAIN, RED, shown, width
from tonumpy.text.source import Source

_MOST_ROWS = 6  # shown of one finding; a call may be a page long
_MOST_COLUMNS = 160  # shown of one line; a module may be one line long
_BEFORE = 60  # of these columns, those before the place


class Marked(NamedTuple):
    """A line of a text and its underlined part, by columns from 0; nothing is if `start` equals `end`."""

    row: int
    text: str
    start: int
    end: int


def frame(source: Source, finding: Finding) -> str:
    """The lines of a finding, in colours."""
    return _frame(_found(source, finding), "^", RED, gutter(finding))


def repaired(source: Source, finding: Finding) -> str:
    """The lines after the repair, in colours; empty if there is no edit."""
    if finding.fix is None or not finding.fix.edits:
        return ""
    return _frame(_after(source, finding.fix), "+", GREEN, gutter(finding))


def gutter(finding: Finding) -> int:
    """The width of the column with the row numbers."""
    edits = finding.fix.edits if finding.fix else ()
    return len(str(max((finding.end.row, *(edit.end.row for edit in edits)))))


def _found(source: Source, finding: Finding) -> list[Marked]:
    (first, column), (last, end_column) = finding.start, finding.end
    lines = []
    for row in range(first, min(last, first + _MOST_ROWS) + 1):
        text = source.line(row).rstrip("\r\n")
        start = column - 1 if row == first else len(text) - len(text.lstrip())
        lines.append(Marked(row, text, start, end_column - 1 if row == last else len(text)))
    return lines


def _after(source: Source, fix: Fix) -> list[Marked]:
    """The lines from the first edit to the last after the repair, with the inserted text marked."""
    first, last = fix.edits[0].start.row, fix.edits[-1].end.row
    at = source.offset(fix.edits[0].start._replace(column=1))
    stop = source.offset(fix.edits[-1].end._replace(column=1)) + len(source.line(last))
    text, marks = "", []
    for edit in fix.edits:
        text += source.text[at : source.offset(edit.start)]
        marks.append((len(text), len(text) + len(edit.content)))
        text += edit.content
        at = source.offset(edit.end)
    text += source.text[at:stop]
    lines, offset = [], 0
    for row, line in enumerate(text.split("\n"), first):
        lines.append(Marked(row, line.rstrip("\r"), *_marked(line, offset, marks)))
        offset += len(line) + 1
    changed = [line for line in lines if line.start < line.end]
    return changed or [line for line in lines if line.text]


def _marked(line: str, offset: int, marks: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The columns from the first to the last mark in a line, without surrounding space."""
    inside = [(max(start - offset, 0), min(end - offset, len(line))) for start, end in marks]
    inside = [(start, end) for start, end in inside if line[start:end].strip()]
    if not inside:
        return 0, 0
    start, end = inside[0][0], inside[-1][1]
    part = line[start:end]
    return end - len(part.lstrip()), start + len(part.rstrip())


def _frame(lines: Sequence[Marked], mark: str, colour: str, gutter: int) -> str:
    text = "".join(_line(line, mark, colour, gutter) for line in lines[:_MOST_ROWS])
    return text if len(lines) <= _MOST_ROWS else f"{text}{BLUE}{'':{gutter}} :{PLAIN}\n"


def _line(line: Marked, mark: str, colour: str, gutter: int) -> str:
    text, start, end = _cut(line.text, line.start, line.end)
    lines = f"{BLUE}{line.row:>{gutter}} |{PLAIN} {shown(text)}".rstrip() + "\n"
    if start < end:
        before, under = width(shown(text[:start])), width(shown(text[:end])) - width(shown(text[:start]))
        lines += f"{BLUE}{'':{gutter}} |{PLAIN} {'':{before}}{colour}{mark * max(under, 1)}{PLAIN}\n"
    return lines


def _cut(text: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a long line around its marked columns, and these columns in it."""
    first = max(0, start - _BEFORE) if len(text) > _MOST_COLUMNS else 0
    last = first + _MOST_COLUMNS
    head, tail = "…" if first else "", "…" if last < len(text) else ""
    shift = len(head) - first
    return head + text[first:last] + tail, start + shift, min(end, last) + shift
