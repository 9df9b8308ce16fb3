"""Findings in; those that no `# noqa` comment of the source suppresses out, judged by flake8's own code."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonumpy.findings import Finding
    from tonumpy.source import Source


def suppress(source: Source, findings: Sequence[Finding]) -> list[Finding]:
    """flake8 is imported only where there is a finding in a text that says "noqa": it costs as much as a whole run."""
    if not findings or "noqa" not in source.text.lower():
        return list(findings)
    from argparse import Namespace

    from flake8.processor import FileProcessor
    from flake8.violation import Violation

    lines = io.StringIO(source.text, newline=None).readlines()  # flake8 reads with universal newlines too
    options = Namespace(
        disable_noqa=False, hang_closing=False, indent_size=4, max_line_length=79, max_doc_length=None, verbose=0
    )
    processor = FileProcessor(source.filename, options, lines)
    if processor.should_ignore_file():
        return []
    kept = []
    for finding in findings:
        row, column = finding.start
        line = processor.noqa_line_for(row)
        if line is None:  # the text cannot be tokenized, and flake8 falls back to the line alone
            line = lines[row - 1]
        violation = Violation(finding.code, source.filename, row, column, finding.message, line)
        if not violation.is_inline_ignored(False):
            kept.append(finding)
    return kept
