"""Renders findings and errors as one HTML page for a team: plots, filters, each finding with its code and its patch.

The page loads nothing: style, script and data are in it, and its content security policy forbids anything else.
"""

import hashlib
import json
import os
import re
from base64 import b64encode
from html import escape
from string import Template

from tonumpy.findings import Finding, Fix
from tonumpy.repair.rewrite import apply_edits
from tonumpy.report import Report
from tonumpy.report.parts.closing_words import Unsaid, summary_of_check
from tonumpy.rules import all_rules
from tonumpy.text.source import Source
from tonumpy.text.visible import visible

_AROUND = 2  # lines shown before and after a finding
_LONGEST = 1_000  # characters shown of a line
_KINDS = {"safe": "safe", "unsafe": "unsafe", "display-only": "hand"}


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    style, script = _part("report.css"), _part("report.js")
    files = _Files(report)
    findings = [files.entry(finding) for finding in report.findings]
    found = {finding.code for finding in report.findings}
    rules = {
        rule.code: {"name": rule.name, "summary": rule.summary, "page": rule.page}
        for rule in all_rules()
        if rule.code in found
    }
    # Inside the script element, `</script>` and `<!--` would be markup.
    data = json.dumps({"files": files.entries, "rules": rules, "findings": findings}, separators=(",", ":"))
    summary = " ".join(summary_of_check(report, Unsaid()).split("\n")).strip()
    return Template(_part("report.html")).substitute(
        title=escape(summary.partition(".")[0]),
        summary=escape(summary),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        errors=_errors(report),
        data=data.replace("<", "\\u003c"),
    )


def _part(name: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "page", name), encoding="utf-8") as stream:
        return stream.read()


def _hash(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _errors(report: Report) -> str:
    if not report.errors:
        return ""
    items = "".join(f"<li>{escape(visible(str(error)))}</li>\n" for error in report.errors)
    return f'<section class="errors" aria-label="Errors">\n<h2>Not checked</h2>\n<ul>\n{items}</ul>\n</section>\n'


class _Files:
    """The files of the findings, each with the lines of it that are shown."""

    def __init__(self, report: Report) -> None:
        self.entries: list[dict[str, object]] = []
        self._report = report
        self._known: dict[tuple[str, int | None], tuple[int, dict[int, str]]] = {}

    def entry(self, finding: Finding) -> dict[str, object]:
        index, lines = self._file(finding.filename, finding.cell and finding.cell.number)
        source = self._report.source_of(finding)
        entry: dict[str, object] = {
            "file": index,
            "cell": finding.cell and finding.cell.number,
            "code": finding.code,
            "message": finding.message,
            "start": finding.start,
            "end": finding.end,
            "kind": "none" if finding.fix is None else _KINDS[finding.fix.applicability],
            "fix": finding.fix and finding.fix.message,
            "confidence": finding.confidence,
            "evidence": [visible(ground.words_with_place) for ground in finding.evidence],
        }
        if source is not None:
            first = max(1, finding.start.row - _AROUND)
            last = min(len(source.line_starts), finding.end.row + _AROUND)
            lines.update((row, _cut(source.line(row).rstrip("\r\n"))) for row in range(first, last + 1))
            entry["frame"] = (first, last)
            if finding.fix is not None and finding.fix.edits:
                entry["patch"] = _patch(source, finding.fix)
        return entry

    def _file(self, filename: str, cell: int | None) -> tuple[int, dict[int, str]]:
        if (filename, cell) not in self._known:
            lines: dict[int, str] = {}
            self._known[filename, cell] = (len(self.entries), lines)
            self.entries.append({"name": visible(filename).replace(os.sep, "/"), "lines": lines})
        return self._known[filename, cell]


def _patch(source: Source, fix: Fix) -> tuple[int, list[str], list[str]]:
    """The first row that changes, the old lines, and the new ones."""
    first, last = fix.edits[0].start.row, fix.edits[-1].end.row
    starts = source.line_starts
    start, stop = starts[first - 1], starts[last] if last < len(starts) else len(source.text)
    after = apply_edits(source, fix.edits)
    stop_after = len(after) - len(source.text) + stop
    return first, _lines(source.text[start:stop]), _lines(after[start:stop_after])


def _lines(text: str) -> list[str]:
    """The lines of a text as Python's syntax splits them: `str.splitlines` splits at more characters."""
    return [_cut(line) for line in re.split(r"\r\n|\r|\n", text.rstrip("\r\n"))]


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}\u2026"
