"""Renders findings and errors in reviewdog's diagnostic format, with the repairs as suggestions."""

from tonumpy.findings import Edit, Position
from tonumpy.report import Report, absolute, is_fixable
from tonumpy.report.parts.entries import Entry, as_json, entries, severity
from tonumpy.text.source import Source

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    document = {
        "source": {"name": "tonumpy", "url": "https://github.com/tonumpy/tonumpy"},
        "severity": "ERROR",
        "diagnostics": [_diagnostic(entry, report) for entry in entries(report)],
    }
    return as_json(document)


def _diagnostic(entry: Entry, report: Report) -> dict[str, object]:
    finding = entry.finding
    source = report.document_of(finding) if finding is not None else None
    code = {"value": entry.code} if finding is None else {"value": entry.code, "url": finding.url}
    found: dict[str, object] = {
        "message": entry.message,
        "severity": _SEVERITIES[severity(finding)],
        "location": {"path": absolute(entry.filename), "range": _range(entry.start, entry.end, source)},
        "code": code,
    }
    if finding is None or finding.fix is None or finding.cell is not None:
        return found
    if is_fixable(finding, unsafe=True):
        if finding.fix.applicability == "unsafe":  # the format has no place for it
            found["message"] = f"{entry.message} (unsafe fix: {finding.fix.message})"
        found["suggestions"] = [_suggestion(edit, source) for edit in finding.fix.edits]
    return found


def _suggestion(edit: Edit, source: Source | None) -> dict[str, object]:
    return {"range": _range(edit.start, edit.end, source), "text": edit.content}


def _range(start: Position, end: Position, source: Source | None) -> dict[str, object]:
    return {"start": _place(start, source), "end": _place(end, source)}


def _place(position: Position, source: Source | None) -> dict[str, int]:
    """The position in the format's terms: its columns count bytes of UTF-8, from 1."""
    column = position.column
    if source is not None and position.row <= len(source.line_starts):
        column = len(source.line(position.row)[: column - 1].encode(errors="surrogatepass")) + 1
    return {"line": position.row, "column": column}
