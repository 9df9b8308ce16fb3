"""Renders findings and errors as one JSON object a line, each as in `json`."""

from tonumpy.report import Report
from tonumpy.report.json import json_entries
from tonumpy.report.parts.entries import as_json


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    return "".join(as_json(entry, is_one_line=True) for entry in json_entries(report))
