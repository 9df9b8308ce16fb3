"""How loud formats for machines are about a finding: takes it, returns a word that follows from its confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.findings import Finding, Sureness

_SEVERITIES: dict[Sureness, str] = {"observed": "error", "high": "error", "medium": "warning", "low": "note"}


def severity(finding: Finding | None) -> str:
    """`error`, `warning` or `note`, as SARIF calls them. What cannot be read or parsed is an error."""
    return "error" if finding is None else _SEVERITIES[finding.confidence]
