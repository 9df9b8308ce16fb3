"""Renders findings for people: each with its lines, a caret under its place, and the lines after the repair."""

import os

from tonumpy.findings import HOW_REPAIRED, Finding, Observed
from tonumpy.report import Report
from tonumpy.report.concise import render_statistics, told_evidence
from tonumpy.report.parts.source_lines import frame, gutter, repaired
from tonumpy.report.parts.terminal import BLUE, BOLD, CYAN, PLAIN, RED, without_colour
from tonumpy.text.visible import visible

__all__ = ["FOR_PEOPLE", "render", "render_statistics"]

FOR_PEOPLE = True


def render(report: Report, *, colour: bool) -> str:
    text = "".join(f"{_finding(report, finding)}\n" for finding in report.findings)
    return text if colour else without_colour(text)


def _finding(report: Report, finding: Finding) -> str:
    margin = " " * gutter(finding)
    mark = f" [{CYAN}*{PLAIN}]" if report.is_fixable(finding) else ""
    text = f"{RED}{finding.code}{PLAIN}{mark} {BOLD}{visible(finding.message)}{PLAIN}\n"
    text += f"{margin}{BLUE}-->{PLAIN} {visible(finding.place)}\n"
    source = report.source_of(finding)
    text += f"{margin} {BLUE}|{PLAIN}\n{frame(source, finding)}" if source else ""
    if finding.fix is not None:
        kind = "help" if finding.fix.applicability == "safe" else f"help ({HOW_REPAIRED[finding.fix.applicability]})"
        text += f"{CYAN}{kind}{PLAIN}: {visible(finding.fix.message)}\n{repaired(source, finding) if source else ''}"
    if finding.observed is not None:
        text += _run(finding.observed)
    return f"{text}{told_evidence(finding)}" if report.shows_evidence else text


def _run(observed: Observed) -> str:
    """The lines about an observation: what a run has seen, torch's error, and the calls that led there."""
    text = f"{CYAN}run{PLAIN}: {visible(observed.words)}\n"
    text += f"{CYAN}run{PLAIN}: {visible(observed.error)}\n" if observed.error else ""
    for each in observed.stack:
        text += f"     from {visible(f'{_path(each.filename)}:{each.row}, in {each.function}')}\n"
    return text


def _path(filename: str) -> str:
    """The path for people: of a library's file relative to site-packages, of the user's to the working folder."""
    _, installed, inside = filename.rpartition(f"site-packages{os.sep}")
    return inside if installed else filename.removeprefix(os.path.join(os.getcwd(), ""))
