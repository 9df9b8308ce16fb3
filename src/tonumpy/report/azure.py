"""Renders findings and errors as logging commands, which Azure Pipelines shows beside the lines."""

from tonumpy.report import Report, absolute
from tonumpy.report.parts.entries import Entry, entries, severity
from tonumpy.text.visible import visible


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    return "".join(map(_command, entries(report)))


def _command(entry: Entry) -> str:
    (row, column), path = entry.start, _property(visible(absolute(entry.filename)))
    place = f"sourcepath={path};linenumber={row};columnnumber={column};code={entry.code};"
    kind = "error" if severity(entry.finding) == "error" else "warning"  # the lowest level
    return f"##vso[task.logissue type={kind};{place}]{_data(visible(entry.message))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%AZP25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(";", "%3B").replace("]", "%5D")
