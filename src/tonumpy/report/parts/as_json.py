"""JSON as reports have it."""

from __future__ import annotations

import json


def as_json(value: object, *, is_one_line: bool = False) -> str:
    """With a newline at the end, and nothing in a string that Azure Pipelines takes for a command, as `##vso[`."""
    text = json.dumps(value, separators=(",", ":")) if is_one_line else json.dumps(value, indent=2)
    return text.replace("##", "#\\u0023") + "\n"
