"""Renders the evidence of findings as lines for people, each with its place and the line of source there."""

from collections.abc import Iterable

from tonumpy.findings import Explanation, Ground, SourceError, place_of
from tonumpy.report.parts.terminal import BOLD, CYAN, DIM, PLAIN, RED, without_colour
from tonumpy.text.notebooks import Notebook
from tonumpy.text.reading import read_regular
from tonumpy.text.visible import visible


def lines_of(grounds: Iterable[Ground], indent: str) -> str:
    """A line for each ground, followed by the source line to which it refers."""
    lines = ""
    for each in grounds:
        place = f", {each.place}" if each.row else ""
        told = f"{each.source}{place}: {each.message}"
        lines += f"{indent}{visible(told)}\n"
        text = _line(each).strip() if each.row else ""
        lines += f"{indent}    {each.row} | {visible(text)}\n" if text else ""
    return lines


def _line(ground: Ground) -> str:
    import linecache  # only for reports that show it: start-up

    if ground.cell is None:
        linecache.checkcache(ground.filename)  # it may have changed under `--watch`
        return linecache.getline(ground.filename, ground.row)
    rows = _cell(ground.filename, ground.cell).splitlines()
    return rows[ground.row - 1] if ground.row <= len(rows) else ""


def _cell(filename: str, number: int) -> str:
    try:
        return Notebook(read_regular(filename), filename).cell(number)
    except (OSError, SourceError):
        return ""


def explanation(filename: str, explained: Explanation, *, colour: bool) -> str:
    """The lines of an explanation: all that is known about one conversion."""
    heading = f"{place_of(filename, explained.start, explained.cell)}: `{explained.subject}`"
    lines = f"{BOLD}{visible(heading)}{PLAIN}\n"
    if not explained.findings:
        lines += "  not reported\n"
    untold: tuple[tuple[str, ...], ...] = ((),) * len(explained.findings)
    for finding, silences in zip(explained.findings, explained.silences or untold, strict=True):
        lines += f"  {RED}{finding.code}{PLAIN} ({finding.confidence} confidence): {visible(finding.message)}\n"
        lines += "".join(f"    not reported: {visible(each)}\n" for each in silences)
    for answer in explained.answers:
        lines += f"  {CYAN}{answer.about}{PLAIN}: {visible(answer.text)}\n"
        lines += "".join(f"{DIM}{line}{PLAIN}\n" for line in lines_of(answer.grounds, "    ").splitlines())
        lines += f"    to fix: {visible(answer.remedy)}\n" if answer.remedy else ""
    return lines if colour else without_colour(lines)
