"""Findings and errors as workflow commands, which GitHub Actions shows beside the lines of a pull request."""

import os

from tonumpy.findings import Finding, SourceError
from tonumpy.report import Report
from tonumpy.report.parts.entries import severity
from tonumpy.text.visible import visible

_KINDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    return "".join([_finding(finding) for finding in report.findings] + [_error(error) for error in report.errors])


def _finding(finding: Finding) -> str:
    # A pull request shows the JSON of a notebook.
    (row, column), (end_row, end_column) = finding.cell[1:] if finding.cell else (finding.start, finding.end)
    text = visible(f"{finding.place}: {finding.code} {finding.message}")
    text += f"\n  {finding.confidence} confidence" if finding.observed is None else f"\n  {finding.observed.words}"
    for each in finding.evidence:
        text += f"\n  {visible(each.words_with_place)}"
    if finding.fix is not None:
        text += f"\n  help: {visible(finding.fix.message)}"
    place = f"line={row},col={column},endLine={end_row},endColumn={end_column}"
    return _command(_KINDS[severity(finding)], f"tonumpy ({finding.code})", finding.filename, place, text)


def _error(error: SourceError) -> str:
    row, column = error.position if error.position and error.cell is None else (1, 1)
    return _command("error", "tonumpy", error.filename, f"line={row},col={column}", visible(str(error)))


def _command(kind: str, title: str, filename: str, place: str, text: str) -> str:
    file = visible(_property(os.path.abspath(filename)))
    return f"::{kind} title={_property(title)},file={file},{place}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
