"""Which findings a `# noqa` comment of the source suppresses, judged by flake8's own code."""

from __future__ import annotations

import io
import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from tonumpy.text.candidates import first_row, is_any_between, last_row
from tonumpy.text.syntax import blocks_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from tonumpy.findings import Finding
    from tonumpy.text.source import Source


def suppress(source: Source, findings: Sequence[Finding]) -> list[Finding]:
    """flake8 is imported only where a comment may concern a finding: it costs as much as a whole run."""
    if not findings or not _may_concern(source, findings):
        return list(findings)
    from argparse import Namespace

    from flake8.processor import FileProcessor
    from flake8.violation import Violation

    # The time of flake8's patterns grows with the square of the length of a run of blanks.
    text = _BLANKS.sub(" " * _MANY, source.text)
    lines = io.StringIO(text, newline=None).readlines()  # flake8 reads with universal newlines too
    options = Namespace(
        disable_noqa=False, hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0
    )
    processor = FileProcessor(source.filename, options, lines)
    if processor.should_ignore_file():
        return []
    kept = []
    ignored: dict[tuple[str, str], bool] = {}  # by line and code: a line may have many findings, and name many codes
    for finding in findings:
        row, column = finding.start
        line = processor.noqa_line_for(row)
        if line is None:  # the text cannot be tokenized, and flake8 falls back to the line alone
            line = lines[row - 1]
        key = (line, finding.code)
        if key not in ignored:
            violation = Violation(finding.code, source.filename, row, column, finding.message, line)
            ignored[key] = violation.is_inline_ignored(False)
        if not ignored[key]:
            kept.append(finding)
    return kept


_MANY = 300  # more than code is indented by
_BLANKS = re.compile(rf"[ \t]{{{_MANY},}}")
_NOQA = re.compile("noqa", re.IGNORECASE)
_WHOLE_FILE = re.compile("flake8", re.IGNORECASE)  # is named in a comment for all lines


def _may_concern(source: Source, findings: Sequence[Finding]) -> bool:
    """True if there is a comment for the whole file, or one in the logical line of a finding."""
    rows = [source.position_at(match.start()).row for match in _NOQA.finditer(source.text)]
    return bool(rows) and (
        _WHOLE_FILE.search(source.text) is not None
        or any(is_any_between(rows, *_logical_line(source, finding.start.row)) for finding in findings)
    )


def _logical_line(source: Source, row: int) -> tuple[int, int]:
    """The first and the last row of the logical line that a row is a part of, or of more than it."""
    block = source.tree.body
    first = last = row
    while True:
        at = bisect_left(block, first, key=last_row)
        within = block[at : bisect_right(block, last, at, key=first_row)]
        rows = (*map(first_row, within), *map(last_row, within), first, last)
        if (min(rows), max(rows)) != (first, last):
            first, last = min(rows), max(rows)  # those behind a semicolon may go on further
            continue
        inner = blocks_of(within[0]) if len(within) == 1 else []
        inner = [each for each in inner if first_row(each[0]) <= row <= last_row(each[-1])]
        if len(inner) != 1 or not _begins_line(source, inner[0][0]):
            return first, last  # of a simple statement, or in the head of another
        (block,) = inner
        first = last = row


def _begins_line(source: Source, statement: ast.stmt) -> bool:
    """Not `if x: statement`, which is one logical line with its head."""
    line = source.line(statement.lineno)
    return len(line) - len(line.lstrip()) == statement.col_offset
