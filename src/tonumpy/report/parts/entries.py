"""The findings and the errors of a report as most formats for machines have them, in one list."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.findings import Position
from tonumpy.report import error_code
from tonumpy.text.visible import without_surrogates

if TYPE_CHECKING:
    from tonumpy.findings import Finding
    from tonumpy.report import Report


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
    found = []
    for each in report.findings:
        start, end = each.cell[1:] if each.cell else (each.start, each.end)  # in the JSON of a notebook
        found.append(Entry(each.filename, each.code, without_surrogates(each.message), start, end, each))
    for error in report.errors:
        place = error.position if error.position and error.cell is None else Position(1, 1)
        reason = without_surrogates(error.reason)
        found.append(Entry(error.filename, error_code(error)[0], reason, place, place, None))
    return sorted(found, key=lambda entry: entry.filename)
