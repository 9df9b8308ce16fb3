"""Renders findings and errors as workflow commands, which GitHub Actions shows beside the lines of a pull request."""

import os

from tonumpy.findings import Finding, SourceError
from tonumpy.report import Report
from tonumpy.report.parts.entries import entry_of, entry_of_error, severity
from tonumpy.text.visible import visible

_KINDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    return "".join([_finding(finding) for finding in report.findings] + [_error(error) for error in report.errors])


def _finding(finding: Finding) -> str:
    text = visible(f"{finding.place}: {finding.code} {finding.message}")
    text += f"\n  {finding.confidence} confidence" if finding.observed is None else f"\n  {finding.observed.words}"
    for each in finding.evidence:
        text += f"\n  {visible(each.words_with_place)}"
    if finding.fix is not None:
        text += f"\n  help: {visible(finding.fix.message)}"
    entry = entry_of(finding)
    place = f"line={entry.start.row},col={entry.start.column},endLine={entry.end.row},endColumn={entry.end.column}"
    return _command(_KINDS[severity(finding)], f"tonumpy ({finding.code})", finding.filename, place, text)


def _error(error: SourceError) -> str:
    row, column = entry_of_error(error).start
    return _command("error", "tonumpy", error.filename, f"line={row},col={column}", visible(str(error)))


def _command(kind: str, title: str, filename: str, place: str, text: str) -> str:
    file = visible(_property(os.path.abspath(filename)))
    return f"::{kind} title={_property(title)},file={file},{place}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
