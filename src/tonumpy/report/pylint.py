"""Findings and errors as pylint's parseable lines, which many tools read: `path:row: [CODE] message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.report.parts.entries import entries
from tonumpy.text.visible import visible_path

if TYPE_CHECKING:
    from tonumpy.report import Report
    from tonumpy.report.parts.entries import Entry


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    return "".join(map(_line, entries(report)))


def _line(entry: Entry) -> str:
    fix = entry.finding and entry.finding.fix
    message = f"{entry.message} {fix.told}" if fix else entry.message
    return f"{visible_path(f'{entry.filename}:{entry.start.row}: [{entry.code}] {message}')}\n"
