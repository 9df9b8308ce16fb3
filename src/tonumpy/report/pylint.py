"""Renders findings and errors as pylint's parseable lines, which many tools read: `path:row: [CODE] message`."""

from tonumpy.report import Report
from tonumpy.report.parts.entries import Entry, entries
from tonumpy.text.visible import visible_path


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    return "".join(map(_line, entries(report)))


def _line(entry: Entry) -> str:
    fix = entry.finding and entry.finding.fix
    message = f"{entry.message} {fix.told}" if fix else entry.message
    return f"{visible_path(f'{entry.filename}:{entry.start.row}: [{entry.code}] {message}')}\n"
