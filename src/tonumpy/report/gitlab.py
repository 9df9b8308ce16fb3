"""Renders findings and errors as a code quality report, which GitLab shows in merge requests."""

import os
from hashlib import sha256

from tonumpy.findings import Position
from tonumpy.report import Report
from tonumpy.report.parts.entries import Entry, as_json, entries, severity
from tonumpy.text.visible import without_surrogates

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    """Render the report; paths are relative to the project (CI_PROJECT_DIR in a pipeline), else the current folder."""
    root = os.environ.get("CI_PROJECT_DIR") or os.curdir
    taken: dict[str, int] = {}
    return as_json([_issue(entry, _known_by(entry, report), root, taken) for entry in entries(report)])


def _known_by(entry: Entry, report: Report) -> str:
    """The text that identifies an issue, stable under changes of other lines and of our messages: that of its line; of
    an error, its message."""
    source = report.source_of(entry.finding) if entry.finding else None
    return source.line(entry.finding.start.row).strip() if source and entry.finding else entry.message


def _issue(entry: Entry, known_by: str, root: str, taken: dict[str, int]) -> dict[str, object]:
    path = entry.filename if entry.filename == "-" else os.path.relpath(entry.filename, root).replace(os.sep, "/")
    path = without_surrogates(path)
    return {
        "check_name": entry.code,
        "description": f"{entry.code}: {entry.message}",
        "severity": _SEVERITIES[severity(entry.finding)],
        "fingerprint": _fingerprint(f"{path}:{entry.code}:{known_by}", taken),
        "location": {"path": path, "positions": {"begin": _place(entry.start), "end": _place(entry.end)}},
    }


def _fingerprint(of: str, taken: dict[str, int]) -> str:
    """A digest that identifies an issue; equal ones are numbered."""
    number = taken[of] = taken.get(of, -1) + 1
    return sha256(f"{of}:{number}".encode()).hexdigest()[:16]


def _place(position: Position) -> dict[str, int]:
    return {"line": position.row, "column": position.column}
