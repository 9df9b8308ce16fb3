"""One run's findings and errors in, its report out: one file a format, found by its name."""

from __future__ import annotations

import os
from importlib import import_module

from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from tonumpy.findings import Finding, SourceError

    class Format(Protocol):
        """What a module of this package defines. A text that is returned ends with a newline or is empty.

        A format that has `--statistics` too (how many findings each code has) also defines `render_statistics`, which
        takes and returns the same.
        """

        def render(self, report: Report, *, colour: bool) -> str: ...


class Report(NamedTuple):
    """`unsafe_allowed` names the files whose settings have `unsafe-fixes`; `shows_evidence`: people asked for it."""

    findings: Sequence[Finding]
    errors: Sequence[SourceError]
    unsafe_allowed: frozenset[str] = frozenset()
    shows_evidence: bool = False

    def is_fixable(self, finding: Finding) -> bool:
        """Whether `tonumpy fix`, as it is configured, repairs the finding."""
        return is_fixable(finding, unsafe=finding.filename in self.unsafe_allowed)


_NO_FORMATS = ("__init__.py", "evidence.py")


def format_names() -> list[str]:
    return sorted(name[:-3] for name in os.listdir(__path__[0]) if name.endswith(".py") and name not in _NO_FORMATS)


def format_named(name: str) -> Format:
    found: Format = import_module(f"{__name__}.{name}")
    return found


def is_fixable(finding: Finding, *, unsafe: bool) -> bool:
    if finding.fix is None or not finding.fix.edits:
        return False
    return finding.fix.applicability == "safe" or (unsafe and finding.fix.applicability == "unsafe")


def count_codes(report: Report) -> list[tuple[str, int]]:
    """Each code with the number of its findings, most first."""
    counts: dict[str, int] = {}
    for finding in report.findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def rule_names() -> dict[str, str]:
    from tonumpy.rules import all_rules

    return {rule.code: rule.name for rule in all_rules()}
