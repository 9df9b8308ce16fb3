"""Words the summaries of `check` and `fix`."""

from collections.abc import Sequence
from typing import NamedTuple

from tonumpy.findings import Finding
from tonumpy.report import Report, is_fixable
from tonumpy.text.visible import visible_path


class Unsaid(NamedTuple):
    """What a report leaves out: how many findings are in a baseline and on unchanged lines; whether there was no file
    to check, and whether only findings of high confidence were asked for."""

    in_baseline: int = 0
    on_old_lines: int = 0
    is_of_nothing: bool = False
    is_certain_only: bool = False

    @property
    def left_out(self) -> str:
        words = ((self.in_baseline, "in the baseline"), (self.on_old_lines, "on unchanged lines"))
        return " and ".join(f"{number} {where}" for number, where in words if number)


def summary_of_check(report: Report, unsaid: Unsaid) -> str:
    """The summary of `tonumpy check`."""
    if not report.findings:
        return _text([*_unchecked(report), *_none_left(report, unsaid)])
    more = f", and {unsaid.left_out}" if unsaid.left_out else ""
    found = f"Found {_in_files(report.findings)}{more}."
    return _text([*_unchecked(report), found, *_offer(report), _sureness(report, unsaid)])


def summary_of_fix(report: Report, fixed: Sequence[Finding], unsaid: Unsaid, *, written: bool) -> str:
    """The summary of `tonumpy fix`, whose report has the findings that are left."""
    more = f"; left alone: {unsaid.left_out}" if unsaid.left_out else ""
    if fixed:
        left = f", {len(report.findings)} left" if report.findings else ""
        told = [f"{'Fixed' if written else 'Would fix'} {_in_files(fixed)}{left}{more}."]
    elif report.findings:
        told = [f"Fixed nothing, {_count(len(report.findings), 'finding')} left{more}."]
    else:
        told = _none_left(report, unsaid)
    return _text([*_unchecked(report), *told, *_offer(report)])


def _none_left(report: Report, unsaid: Unsaid) -> list[str]:
    """The line for a run without findings; none if there are errors, which were printed."""
    if unsaid.left_out:
        return [f"No new findings, {unsaid.left_out}."]
    if report.errors:
        return []
    if unsaid.is_of_nothing:
        return ["No files were checked."]
    return [f"No finding is certain{_POSSIBLE}." if unsaid.is_certain_only else "All checks passed!"]


_POSSIBLE = " (high confidence); `--confidence medium` also shows possible ones"


def _sureness(report: Report, unsaid: Unsaid) -> str:
    """The counts of certain and possible findings, and the option that shows more or fewer."""
    if unsaid.is_certain_only:
        return f"All are certain{_POSSIBLE}."
    certain = sum(finding.confidence == "high" for finding in report.findings)
    possible = len(report.findings) - certain
    more = "; `--confidence high` shows the certain ones alone" if possible else ""
    return f"{certain} certain (high confidence), {possible} possible{more}."


def summary_of_silence(silenced: Sequence[Finding]) -> str:
    """The summary of `tonumpy check --add-noqa`."""
    if not silenced:
        return "No findings to silence.\n"
    return f"Silenced {_in_files(silenced)}.\n"


def repairs(fixed: Sequence[Finding], *, written: bool) -> str:
    """The list of the repairs of `fix`, with their former places."""
    done = "fixed" if written else "would fix"
    return "".join(
        f"{visible_path(each.place)}: {done} {each.code}: {each.fix.message}\n"
        for each in fixed
        if each.fix is not None
    )


def _unchecked(report: Report) -> list[str]:
    """The line that counts files with errors; the errors themselves are printed elsewhere."""
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


def _in_files(findings: Sequence[Finding]) -> str:
    files = len({finding.filename for finding in findings})
    return f"{_count(len(findings), 'finding')} in {_count(files, 'file')}"


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
