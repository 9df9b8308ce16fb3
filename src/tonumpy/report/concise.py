"""Renders findings as lines for people and editors: `path:row:column: CODE message (fix: ...)`.

A line has at most `WIDTH` characters, what and why first; the format `full` has the rest. A path is never cut: if it
has more than `LONG_PATH` characters, the line is longer by as many.
"""

import re

from tonumpy.findings import Finding
from tonumpy.report import Report, count_codes, rule_names
from tonumpy.report.parts.terminal import BOLD, CYAN, DIM, PLAIN, RED, without_colour
from tonumpy.text.visible import visible, visible_path

FOR_PEOPLE = True
WIDTH = 120
LONG_PATH = 60
# Parts of messages that the rule's code or the format `full` says, in the order in which they are dropped.
_CLEAR_FROM_CODE = (
    (r" on a (possible )?tensor,", ","),
    (r"^`\.numpy\(\)` without ", "without "),
    (r" \([^`]*?, maybe a GPU\)", ""),
    (r" chosen at run time$", ""),
    (r" on a tensor within ", " within "),
    (r" converts a tensor ", ": "),
    (r"^`\.numpy\(\)`, ", ""),
)


def render(report: Report, *, colour: bool) -> str:
    """Render the findings; `[*]` marks those that `tonumpy fix` repairs, as in ruff's report."""
    lines = "".join(
        _line(finding, report.is_fixable(finding)) + (told_evidence(finding) if report.shows_evidence else "")
        for finding in report.findings
    )
    return lines if colour else without_colour(lines)


def render_statistics(report: Report, *, colour: bool) -> str:
    """Render the number of findings of each code, the highest first."""
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
    head = f"{place} {RED}{finding.code}{PLAIN}{mark} "
    message = visible(finding.brief or finding.message)
    repair = "" if finding.fix is None else visible(finding.fix.told)
    taken, path = len(without_colour(head)), len(visible_path(finding.filename))
    if repair and taken + len(message) + 1 + len(repair) <= WIDTH:
        return f"{head}{message} {DIM}{repair}{PLAIN}\n"
    return f"{head}{_shortened(message, WIDTH - taken + max(0, path - LONG_PATH))}\n"


def _shortened(message: str, width: int) -> str:
    """The message shortened to `width`: without its last clauses, then without parts the code implies, then cut."""
    for mark in ("; ", ": "):
        while len(message) > width and (clause := message.rpartition(mark)[0]) and clause.count("`") % 2 == 0:
            message = clause
    for pattern, shorter in _CLEAR_FROM_CODE:
        if len(message) > width:
            message = re.sub(pattern, shorter, message)
    if len(message) <= width:
        return message
    cut = message[: width - 1].rpartition(" ")[0]
    return f"{cut}{'`' * (cut.count('`') % 2)}…"


def told_evidence(finding: Finding) -> str:
    """The lines with the confidence of a finding and its evidence."""
    from tonumpy.report.parts.evidence_lines import lines_of  # only where it is asked for: start-up

    return f"    {finding.confidence} confidence\n{lines_of(finding.evidence, '    ')}"
