"""Shared parts of formats for machines: entries of findings and errors, their severity, and JSON."""

import json
from typing import NamedTuple

from tonumpy.findings import Finding, Position, SourceError, Sureness
from tonumpy.report import Report, error_code
from tonumpy.text.visible import without_surrogates

_SEVERITIES: dict[Sureness, str] = {"observed": "error", "high": "error", "medium": "warning", "low": "note"}


class Entry(NamedTuple):
    """A finding or an error as most formats for machines have it: the columns count code points, from 1.

    `finding` is None for an error, whose code is the one that ruff has for it.
    """

    filename: str
    code: str
    message: str
    start: Position
    end: Position
    finding: Finding | None


def entries(report: Report) -> list[Entry]:
    """All of a report; as in ruff, an error stands where the findings of its file would."""
    found = [*map(entry_of, report.findings), *map(entry_of_error, report.errors)]
    return sorted(found, key=lambda entry: entry.filename)


def entry_of(finding: Finding) -> Entry:
    """The entry of a finding, in a notebook with its place in the JSON."""
    start, end = finding.cell[1:] if finding.cell else (finding.start, finding.end)
    return Entry(finding.filename, finding.code, without_surrogates(finding.message), start, end, finding)


def entry_of_error(error: SourceError) -> Entry:
    place = error.position if error.position and error.cell is None else Position(1, 1)
    return Entry(error.filename, error_code(error)[0], without_surrogates(error.reason), place, place, None)


def severity(finding: Finding | None) -> str:
    """`error`, `warning` or `note`, as SARIF calls them. What cannot be read or parsed is an error."""
    return "error" if finding is None else _SEVERITIES[finding.confidence]


def as_json(value: object, *, is_one_line: bool = False) -> str:
    """Ends with a newline, and holds nothing in a string that Azure Pipelines takes for a command, as `##vso[`."""
    text = json.dumps(value, separators=(",", ":")) if is_one_line else json.dumps(value, indent=2)
    return text.replace("##", "#\\u0023") + "\n"
