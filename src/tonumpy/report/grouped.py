"""Renders findings for people, by file."""

from tonumpy.findings import Finding
from tonumpy.report import Report
from tonumpy.report.concise import render_statistics
from tonumpy.report.parts.terminal import BOLD, CYAN, DIM, PLAIN, RED, without_colour
from tonumpy.text.visible import visible, visible_path

__all__ = ["FOR_PEOPLE", "render", "render_statistics"]

FOR_PEOPLE = True


def render(report: Report, *, colour: bool) -> str:
    files: dict[str, list[Finding]] = {}
    for finding in report.findings:
        files.setdefault(finding.filename, []).append(finding)
    text = "".join(_group(report, filename, findings) for filename, findings in files.items())
    return text if colour else without_colour(text)


def _group(report: Report, filename: str, findings: list[Finding]) -> str:
    places = [
        f"{f'cell {finding.cell.number}:' if finding.cell else ''}{finding.start.row}:{finding.start.column}"
        for finding in findings
    ]
    width = max(map(len, places))
    lines = [f"{BOLD}{visible_path(filename)}{PLAIN}:"]
    for finding, place in zip(findings, places, strict=True):
        mark = f" [{CYAN}*{PLAIN}]" if report.is_fixable(finding) else ""
        fix = finding.fix and f" {DIM}{visible(finding.fix.told)}{PLAIN}"
        lines.append(f"  {place:<{width}} {RED}{finding.code}{PLAIN}{mark} {visible(finding.message)}{fix or ''}")
    return "\n".join((*lines, "", ""))
