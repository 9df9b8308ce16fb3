"""Renders findings and errors as one JSON array in the shape of `ruff check --output-format json`, key for key."""

from __future__ import annotations

from tonumpy.findings import Edit, Finding, Ground, Observed, Position, SourceError
from tonumpy.report import Report, absolute, count_codes, error_code, rule_names
from tonumpy.report.parts.entries import as_json
from tonumpy.text.visible import without_surrogates


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    """Render the findings as ruff does; a file that could not be read or parsed is an entry, too, in sorted order."""
    return as_json(json_entries(report))


def json_entries(report: Report) -> list[dict[str, object]]:
    names = rule_names() if report.findings else {}
    entries = [_finding(finding, names) for finding in report.findings] + [_error(error) for error in report.errors]
    return sorted(entries, key=lambda entry: str(entry["filename"]))


def render_statistics(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    entries = []
    for code, count in count_codes(report):
        fixable = sum(report.is_fixable(finding) for finding in report.findings if finding.code == code)
        entry = {"code": code, "name": rule_names()[code], "count": count}
        entries.append(entry | {"fixable": fixable == count, "fixable_count": fixable})
    return as_json(entries)


def _finding(finding: Finding, names: dict[str, str]) -> dict[str, object]:
    fix = finding.fix and {
        "applicability": finding.fix.applicability,
        "edits": [_edit(edit) for edit in finding.fix.edits],
        "message": finding.fix.message,
    }
    return {
        "cell": finding.cell and finding.cell.number,
        "code": finding.code,
        "confidence": finding.confidence,
        "end_location": _location(finding.end),
        "evidence": [_ground(ground) for ground in finding.evidence],
        "filename": absolute(finding.filename),
        "fix": fix,
        "location": _location(finding.start),
        "message": finding.message,
        "name": names[finding.code],
        "noqa_row": finding.start.row,
        "severity": "error",
        "url": finding.url,
    } | ({} if finding.observed is None else {"observed": observed_entry(finding.observed)})


def observed_entry(observed: Observed) -> dict[str, object]:
    """The observation of a run, as JSON."""
    stack = [dict(sorted(each._asdict().items())) for each in observed.stack]
    fields = observed._asdict() | {"fragile": observed.is_fragile, "stack": stack}
    del fields["is_fragile"]
    return dict(sorted(fields.items()))


def _ground(ground: Ground) -> dict[str, object]:
    return {
        "about": ground.about,
        "cell": ground.cell,
        "filename": absolute(ground.filename) if ground.filename else None,
        "id": ground.id,
        "kind": ground.kind,
        "location": _location(Position(ground.row, 1)) if ground.row else None,
        "message": ground.message,
    }


def _error(error: SourceError) -> dict[str, object]:
    code, name = error_code(error)
    place = error.position or Position(1, 1)
    return {
        "cell": error.cell,
        "code": code,
        "end_location": _location(place),
        "filename": absolute(error.filename),
        "fix": None,
        "location": _location(place),
        "message": without_surrogates(error.reason),
        "name": name,
        "noqa_row": None,
        "severity": "error",
        "url": None,
    }


def _edit(edit: Edit) -> dict[str, object]:
    return {"content": edit.content, "end_location": _location(edit.end), "location": _location(edit.start)}


def _location(position: Position) -> dict[str, int]:
    return {"column": position.column, "row": position.row}
