"""Findings and errors as one JSON object a line, each as in `json`."""

from __future__ import annotations

import json

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.report.json import json_entries

if TYPE_CHECKING:
    from tonumpy.report import Report


def render(report: Report, *, colour: bool) -> str:  # noqa: ARG001
    return "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in json_entries(report))
