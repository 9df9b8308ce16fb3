"""Provides formats for machines with entries of findings and errors, their severity, and JSON."""

import json
from typing import NamedTuple

from tonumpy.findings import Finding, Position, SourceError, Sureness
from tonumpy.report import Report, error_code
from tonumpy.text.visible import without_surrogates

_SEVERITIES: dict[Sureness, str] = {"observed": "error", "high": "error", "medium": "warning", "low": "note"}


class Entry(NamedTuple):
    """A finding or an error for machines: columns count code points, from 1.

    `finding` is None for an error, whose code is ruff's.
    """

    filename: str
    code: str
    message: str
    start: Position
    end: Position
    finding: Finding | None


def entries(report: Report) -> list[Entry]:
    """All entries of a report; as in ruff, an error is placed where the findings of its file would be."""
    found = [*map(entry_of, report.findings), *map(entry_of_error, report.errors)]
    return sorted(found, key=lambda entry: entry.filename)


def entry_of(finding: Finding) -> Entry:
    """The entry of a finding; in a notebook, with the place in its JSON."""
    start, end = finding.cell[1:] if finding.cell else (finding.start, finding.end)
    return Entry(finding.filename, finding.code, without_surrogates(finding.message), start, end, finding)


def entry_of_error(error: SourceError) -> Entry:
    place = error.position if error.position and error.cell is None else Position(1, 1)
    return Entry(error.filename, error_code(error)[0], without_surrogates(error.reason), place, place, None)


def severity(finding: Finding | None) -> str:
    """The level by SARIF's names: `error`, `warning` or `note`. A file that cannot be read or parsed is an error."""
    return "error" if finding is None else _SEVERITIES[finding.confidence]


def as_json(value: object, *, is_one_line: bool = False) -> str:
    """JSON text that ends with a newline, with `##` escaped: Azure Pipelines would take `##vso[` for a command."""
    text = json.dumps(value, separators=(",", ":")) if is_one_line else json.dumps(value, indent=2)
    return text.replace("##", "#\\u0023") + "\n"
