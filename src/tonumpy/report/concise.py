"""Findings as lines for people and editors: `path:row:column: CODE message (fix: ...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.report import Report, count_codes, rule_names
from tonumpy.report.parts.terminal import BOLD, CYAN, DIM, PLAIN, RED, without_colour
from tonumpy.text.visible import visible, visible_path

if TYPE_CHECKING:
    from tonumpy.findings import Finding, Fix

FOR_PEOPLE = True


def render(report: Report, *, colour: bool) -> str:
    """A finding that `tonumpy fix` repairs is marked `[*]`, as in ruff's report."""
    lines = "".join(
        _line(finding, report.is_fixable(finding)) + (told_evidence(finding) if report.shows_evidence else "")
        for finding in report.findings
    )
    return lines if colour else without_colour(lines)


def render_statistics(report: Report, *, colour: bool) -> str:
    """How many findings each code has, most first."""
    lines = ""
    for code, count in count_codes(report):
        fixable = any(report.is_fixable(finding) for finding in report.findings if finding.code == code)
        lines += f"{count}\t{RED}{code}{PLAIN}\t{f'[{CYAN}*{PLAIN}]' if fixable else '[ ]'} {rule_names()[code]}\n"
    return lines if colour else without_colour(lines)


def _line(finding: Finding, fixable: bool) -> str:
    row, column = finding.start
    colon = f"{CYAN}:{PLAIN}"
    cell = f"cell {finding.cell.number}{colon}" if finding.cell else ""
    place = f"{BOLD}{visible_path(finding.filename)}{PLAIN}{colon}{cell}{row}{colon}{column}{colon}"
    mark = f" [{CYAN}*{PLAIN}]" if fixable else ""
    return f"{place} {RED}{finding.code}{PLAIN}{mark} {visible(finding.message)}{_repair(finding.fix)}\n"


def told_evidence(finding: Finding) -> str:
    """How sure a finding is, and what it rests on."""
    from tonumpy.report.parts.evidence_lines import lines_of  # only where it is asked for: start-up

    return f"    {finding.confidence} confidence\n{lines_of(finding.evidence, '    ')}"


def _repair(fix: Fix | None) -> str:
    return "" if fix is None else f" {DIM}{visible(fix.told)}{PLAIN}"
