"""The closing words of a rehearsal: how the program ended, what was found, what was repaired, what did not run."""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.rehearsal.sightings import elsewhere
from tonumpy.report import is_fixable
from tonumpy.text.visible import visible, visible_path

if TYPE_CHECKING:
    from tonumpy.rehearsal.judging import Judged
    from tonumpy.rehearsal.spool import Run
    from tonumpy.report import Report


def summary_of(run: Run, how: str, judged: Judged, report: Report, repaired: int | None, *, is_shown: bool) -> str:
    """`how` the program ended is said where it is not empty. `repaired` is None where no repair was asked for;
    `is_shown`: it was shown only, and nothing ran again."""
    left = len(report.findings)
    lines = [*_problems(run), *_of_libraries(run)]
    if repaired is None:
        lines.append(_found(report))
    elif is_shown:
        lines.append(f"{repaired} to be repaired, {left - repaired} left.")
    elif repaired:
        lines.append(f"{repaired} repaired, run again: {left} left.")
    else:
        lines.append(f"Nothing repaired, {left} left.")
    if repaired is None or not is_shown:
        lines += _offer(report, is_asked=repaired is not None)
    lines.append(reached(judged))
    lines += [f"The program {visible(how)}."] if how else []
    return "".join(f"{line}\n" for line in lines)


def reached(judged: Judged) -> str:
    """ "31 of 40 conversions in 12 files ran; 9 did not"."""
    files = [file for file in judged.files if file.conversions]
    total, unreached = sum(file.conversions for file in files), len(judged.unreached)
    if not total:
        return "No conversion of a tensor to NumPy is known in the files that were loaded."
    where = f"{_count(total, 'conversion')} in {_count(len(files), 'file')} ran"
    if not unreached:
        return f"All {where}." if total > 1 else f"{where}.".replace("1 conversion in", "The one conversion, in")
    return f"{total - unreached} of {where}; {unreached} did not (--unreached says which)."


def unreached_lines(judged: Judged) -> str:
    return "".join(
        f"{visible_path(place.filename)}:{place.start.row}:{place.start.column}: did not run\n"
        for place in judged.unreached
    )


def _found(report: Report) -> str:
    if not report.findings:
        return "No conversion that ran would fail."
    files = len({finding.filename for finding in report.findings})
    return f"Saw {_count(len(report.findings), 'fault')} in {_count(files, 'file')}."


def _offer(report: Report, *, is_asked: bool) -> list[str]:
    now = sum(report.is_fixable(finding) for finding in report.findings)
    more = sum(is_fixable(finding, unsafe=True) for finding in report.findings) - now
    lines = [f"[*] {now} repaired by `--fix`."] if now and not is_asked else []
    return [*lines, f"{more} more by `--fix --unsafe-fixes`."] if more else lines


def _problems(run: Run) -> list[str]:
    return [f"tonumpy: warning: an event was lost, please report it: {visible(each)}" for each in run.problems]


def _of_libraries(run: Run) -> list[str]:
    """What was refused where no code of the user's is on the stack: a thread of a library's own."""
    lines = []
    for each in elsewhere(run.noted):
        call = each.event.stack[0] if each.event.stack else None
        place = f"{call.filename}:{call.row}" if call else "an unknown place"
        lines.append(f"In no code of yours, {visible(place)}: {visible(': '.join(each.event.error or ('refused',)))}")
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
