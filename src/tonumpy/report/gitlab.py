"""Findings and errors as a code quality report, which GitLab shows in merge requests."""

import os
from hashlib import sha256

from tonumpy.findings import Position
from tonumpy.report import Report
from tonumpy.report.parts.entries import Entry, as_json, entries, severity
from tonumpy.text.visible import without_surrogates

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    """Paths are relative to the project, which a pipeline names in CI_PROJECT_DIR; elsewhere to the current folder."""
    root = os.environ.get("CI_PROJECT_DIR") or os.curdir
    taken: dict[str, int] = {}
    return as_json([_issue(entry, _known_by(entry, report), root, taken) for entry in entries(report)])


def _known_by(entry: Entry, report: Report) -> str:
    """The text of the line, which neither other lines nor other words of ours change; of an error what it says."""
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
    """The identity of an issue, which does not change with the lines above or with our words."""
    number = taken[of] = taken.get(of, -1) + 1
    return sha256(f"{of}:{number}".encode()).hexdigest()[:16]


def _place(position: Position) -> dict[str, int]:
    return {"line": position.row, "column": position.column}
