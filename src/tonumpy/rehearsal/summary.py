"""Words the summary of a rehearsal: how the program ended, what was found, repaired, and did not run."""

from __future__ import annotations

from tonumpy.findings import Finding
from tonumpy.rehearsal.judging import Judged
from tonumpy.rehearsal.repair_outcome import Outcome
from tonumpy.rehearsal.spool import Run
from tonumpy.report import Report, is_fixable
from tonumpy.text.visible import visible, visible_path


def summary_of(
    run: Run,
    how: str,
    judged: Judged,
    report: Report,
    repairs: Outcome | None,
    *,
    is_shown: bool,
    option: str | None,
) -> str:
    """The lines of the summary. It says `how` the program ended unless that is empty. `repairs` is None if none was
    asked for; `is_shown`: the repairs were only shown, so nothing ran again. Conversions that did not run are listed;
    if an `option` would list them, they are only counted and the option is named."""
    lines = [f"tonumpy: warning: an event was lost, please report it: {visible(each)}" for each in run.problems]
    lines += _processes(run)
    has_raised = run.failure is not None and bool(run.failure.kind) and not report.findings
    ending = [f"The program {visible(how)}."] if how else []
    if has_raised:  # its error may be a conversion's, so it precedes "No other conversion"
        lines, ending = lines + ending, []
    if repairs is None:
        lines.append(_found(report, has_raised=has_raised))
    elif is_shown:
        number = len(repairs.ran)
        lines.append(f"{number} to be repaired, {len(report.findings) - number} left.")
    else:
        lines += _of_repairs(repairs, len(report.findings))
    if repairs is None or not is_shown:
        lines += _offer(report, is_asked=repairs is not None)
    lines += [reached(judged, option), *ending]
    return (unreached_lines(judged) if option is None else "") + "".join(f"{line}\n" for line in lines)


def _found(report: Report, *, has_raised: bool) -> str:
    if not report.findings:
        return f"No{' other' if has_raised else ''} conversion that ran would fail."
    files = {finding.filename for finding in report.findings}
    return f"Saw {_count(len(report.findings), 'fault')} in {_count(len(files), 'file')}."


def _of_repairs(repairs: Outcome, left: int) -> list[str]:
    """The lines about repairs: those taken back, those that did not run again, and the counts."""
    lines = [f"{_place(each)} taken back: the program then {visible(repairs.how)}" for each in repairs.taken_back]
    lines += [f"{_place(each)} repaired, and did not run again" for each in repairs.unreached]
    if not repairs.ran and not repairs.unreached:
        return [*lines, f"Nothing repaired, {left} left."]
    unreached = f"; not reached again: {len(repairs.unreached)}" if repairs.unreached else ""
    return [*lines, f"{len(repairs.ran)} repaired, run again: {left} left{unreached}."]


def _place(finding: Finding) -> str:
    return f"{visible_path(finding.filename)}:{finding.start.row}:{finding.start.column}: {finding.code}"


def reached(judged: Judged, option: str | None) -> str:
    """The line of counts: "31 of 40 conversions in 12 files ran; 9 did not"."""
    files = [file for file in judged.files if file.conversions]
    total, unreached = sum(file.conversions for file in files), len(judged.unreached)
    if not total:
        return "No conversion of a tensor to NumPy is known in the files that were loaded."
    where = f"{_count(total, 'conversion')} in {_count(len(files), 'file')} ran"
    if not unreached:
        return f"All {where}." if total > 1 else f"The {where.removeprefix('1 ')}."
    said = "" if option is None else f" ({option} says which)"
    return f"{total - unreached} of {where}; {unreached} did not{said}."


def unreached_lines(judged: Judged) -> str:
    return "".join(
        f"{visible_path(place.filename)}:{place.start.row}:{place.start.column}: {place.how}\n"
        for place in judged.unreached
    )


def _offer(report: Report, *, is_asked: bool) -> list[str]:
    now = sum(report.is_fixable(finding) for finding in report.findings)
    more = sum(is_fixable(finding, unsafe=True) for finding in report.findings) - now
    lines = [f"[*] {now} repairable with `--fix`."] if now and not is_asked else []
    return [*lines, f"{more} more with `--fix --unsafe-fixes`."] if more else lines


def _processes(run: Run) -> list[str]:
    """The lines about child processes: those not rehearsed, and the counts."""
    lines = [f"Not rehearsed: `{visible(command)}` ({visible(reason)})." for command, reason in run.missed]
    total = run.children + len(run.missed)
    if total:
        were = f"{run.children} {'was' if run.children == 1 else 'were'}"
        lines.append(f"{total} child process{'es' * (total > 1)} imported torch, {were} rehearsed.")
    return lines


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
