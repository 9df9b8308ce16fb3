"""Renders findings and errors as SARIF 2.1.0, which code scanning services read."""

import os
from urllib.parse import quote

from tonumpy import __version__
from tonumpy.findings import Edit, Finding, Ground, Position, SourceError
from tonumpy.report import Report, is_fixable
from tonumpy.report.json import observed_entry
from tonumpy.report.parts.entries import as_json, entry_of, entry_of_error, severity
from tonumpy.rules import Rule, all_rules


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    """Render the report; a file that could not be read or parsed is a notification, and the run not successful."""
    codes = {finding.code: finding for finding in report.findings}
    driver = {
        "name": "tonumpy",
        "fullName": f"tonumpy {__version__}",
        "version": __version__,
        "informationUri": "https://github.com/tonumpy/tonumpy",
        "rules": [_rule(rule, codes[rule.code].url) for rule in all_rules() if rule.code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "tonumpy/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.errors,
                "toolExecutionNotifications": [_notification(error) for error in report.errors],
            }
        ],
        "results": [_result(finding) for finding in report.findings],
    }
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return as_json({"$schema": schema, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule, url: str) -> dict[str, object]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.page, "markdown": rule.page},
        "help": {"text": rule.page, "markdown": rule.page},
        "helpUri": url,
        "defaultConfiguration": {"enabled": rule.on_by_default, "level": "error"},
    }


def _result(finding: Finding) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.code,
        "level": severity(finding),
        "message": {"text": finding.message},
        "locations": [_place(finding)],
        "rank": _RANKS[finding.confidence],
    }
    if finding.observed is not None:
        result["properties"] = {"confidence": finding.confidence, "observed": observed_entry(finding.observed)}
    placed = [each for each in finding.evidence if each.row and each.cell is None]
    if placed:
        result["relatedLocations"] = _each_once([_related(each) for each in placed])  # the schema wants a set
    if finding.fix is not None and is_fixable(finding, unsafe=True) and finding.cell is None:
        change = {
            "artifactLocation": _artifact(finding.filename),
            "replacements": [_replacement(edit) for edit in finding.fix.edits],
        }
        is_unsafe = finding.fix.applicability == "unsafe"
        result["fixes"] = [
            {
                "description": {"text": f"{'Unsafe: ' if is_unsafe else ''}{finding.fix.message}"},
                "artifactChanges": [change],
                "properties": {"applicability": finding.fix.applicability},
            }
        ]
    return result


# How likely a finding is, from 0 to 100.
_RANKS = {"observed": 100.0, "high": 90.0, "medium": 60.0, "low": 20.0}


def _related(ground: Ground) -> dict[str, object]:
    """The evidence of a finding as a related location."""
    place = Position(ground.row, 1)
    return _location(ground.filename, place, place) | {"message": {"text": ground.words}}


def _each_once(items: list[dict[str, object]]) -> list[dict[str, object]]:
    return [item for number, item in enumerate(items) if item not in items[:number]]


def _place(finding: Finding) -> dict[str, object]:
    """The location of a finding; in a notebook the physical one is in the JSON text, the logical one names the cell."""
    entry = entry_of(finding)
    location = _location(entry.filename, entry.start, entry.end)
    if finding.cell is not None:
        cell = {"name": f"cell {finding.cell.number}", "fullyQualifiedName": finding.place}
        location["logicalLocations"] = [cell]
    return location


def _replacement(edit: Edit) -> dict[str, object]:
    return {"deletedRegion": _region(edit.start, edit.end), "insertedContent": {"text": edit.content}}


def _notification(error: SourceError) -> dict[str, object]:
    entry = entry_of_error(error)
    place = _location(entry.filename, entry.start, entry.end)
    return {"level": "error", "message": {"text": entry.message}, "locations": [place]}


def _location(filename: str, start: Position, end: Position) -> dict[str, object]:
    return {"physicalLocation": {"artifactLocation": _artifact(filename), "region": _region(start, end)}}


def _artifact(filename: str) -> dict[str, str]:
    return {"uri": "file://" + quote(os.fsencode(os.path.abspath(filename)))}


def _region(start: Position, end: Position) -> dict[str, int]:
    return {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}
