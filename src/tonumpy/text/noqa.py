"""Drops the findings that a `# noqa` comment of the source suppresses, judged by flake8's own code."""

import io
import re
from collections.abc import Sequence

from tonumpy.findings import Finding
from tonumpy.text.source import Source

_NOQA = re.compile("noqa", re.IGNORECASE)
_MANY = 300  # more than code is indented by
_BLANKS = re.compile(rf"[ \t]{{{_MANY},}}")


def suppress(source: Source, findings: Sequence[Finding]) -> list[Finding]:
    """flake8 is imported only where there is such a comment: it costs as much as a whole run."""
    if not findings or _NOQA.search(source.text) is None:
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
