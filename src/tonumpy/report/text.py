"""Findings as lines for people and editors: `path:row:column: CODE message (fix: ...)`."""

from __future__ import annotations

import re

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.report import Report, count_codes, is_fixable, rule_names
from tonumpy.report.evidence import lines_of
from tonumpy.text.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonumpy.findings import Finding, Fix

_BOLD, _RED, _CYAN, _DIM, _PLAIN = "\033[1m", "\033[1;31m", "\033[36m", "\033[2m", "\033[0m"
_COLOURS = re.compile(r"\033\[[0-9;]*m")
_REPAIR = {"safe": "fix", "unsafe": "unsafe fix", "display-only": "by hand"}


def render(report: Report, *, colour: bool) -> str:
    """A finding that `tonumpy fix` repairs is marked `[*]`, as in ruff's report."""
    lines = "".join(
        _line(finding, report.is_fixable(finding)) + (_evidence(finding) if report.shows_evidence else "")
        for finding in report.findings
    )
    return lines if colour else _COLOURS.sub("", lines)


def render_statistics(report: Report, *, colour: bool) -> str:
    """How many findings each code has, most first."""
    lines = ""
    for code, count in count_codes(report):
        fixable = any(report.is_fixable(finding) for finding in report.findings if finding.code == code)
        lines += f"{count}\t{_RED}{code}{_PLAIN}\t{f'[{_CYAN}*{_PLAIN}]' if fixable else '[ ]'} {rule_names()[code]}\n"
    return lines if colour else _COLOURS.sub("", lines)


def summary_of_check(report: Report) -> str:
    """The closing words of `tonumpy check`."""
    lines = _unchecked(report)
    if report.findings:
        files = len({finding.filename for finding in report.findings})
        lines.append(f"Found {_count(len(report.findings), 'finding')} in {_count(files, 'file')}.")
        lines += _offer(report)
    elif not report.errors:
        lines.append("All checks passed!")
    return "".join(f"{line}\n" for line in lines)


def summary_of_fix(report: Report, fixed: Sequence[Finding], *, written: bool) -> str:
    """The closing words of `tonumpy fix`, whose report holds the findings that are left."""
    lines = _unchecked(report)
    if fixed:
        files = len({finding.filename for finding in fixed})
        left = f", {len(report.findings)} left" if report.findings else ""
        done = "Fixed" if written else "Would fix"
        lines.append(f"{done} {_count(len(fixed), 'finding')} in {_count(files, 'file')}{left}.")
    elif report.findings:
        lines.append(f"Fixed nothing, {_count(len(report.findings), 'finding')} left.")
    elif not report.errors:
        lines.append("All checks passed!")
    return "".join(f"{line}\n" for line in lines + _offer(report))


def _unchecked(report: Report) -> list[str]:
    """Errors are printed one by one elsewhere; the summary must not sound as if there were none."""
    files = len({error.filename for error in report.errors})
    return [f"{_count(files, 'file')} could not be processed."] if files else []


def _offer(report: Report) -> list[str]:
    now = sum(report.is_fixable(finding) for finding in report.findings)
    more = sum(is_fixable(finding, unsafe=True) for finding in report.findings) - now
    if now and more:
        return [f"[*] {now} fixable with `tonumpy fix`, {more} more with `tonumpy fix --unsafe-fixes`."]
    if now:
        return [f"[*] {now} fixable with `tonumpy fix`."]
    return [f"{more} fixable with `tonumpy fix --unsafe-fixes`."] if more else []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _line(finding: Finding, fixable: bool) -> str:
    row, column = finding.start
    colon = f"{_CYAN}:{_PLAIN}"
    cell = f"cell {finding.cell.number}{colon}" if finding.cell else ""
    place = f"{_BOLD}{visible(finding.filename)}{_PLAIN}{colon}{cell}{row}{colon}{column}{colon}"
    mark = f" [{_CYAN}*{_PLAIN}]" if fixable else ""
    return f"{place} {_RED}{finding.code}{_PLAIN}{mark} {visible(finding.message)}{_repair(finding.fix)}\n"


def _evidence(finding: Finding) -> str:
    return f"    {finding.confidence} confidence\n{lines_of(finding.evidence, '    ')}"


def _repair(fix: Fix | None) -> str:
    return "" if fix is None else f" {_DIM}({_REPAIR[fix.applicability]}: {visible(fix.message)}){_PLAIN}"
