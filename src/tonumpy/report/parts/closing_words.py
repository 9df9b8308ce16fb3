"""The closing words of `check` and `fix`."""

from collections.abc import Sequence

from tonumpy.findings import Finding
from tonumpy.report import Report, is_fixable
from tonumpy.text.visible import visible_path


def summary_of_check(
    report: Report, hidden: int = 0, *, old: int = 0, of_nothing: bool = False, possible: int | None = None
) -> str:
    """The closing words of `tonumpy check`; `hidden` is how many findings a baseline has left out.

    `old` is how many are on lines that have not changed; `of_nothing`: there was no file to check; `possible` is how
    many possible findings are not told, None where they were asked for.
    """
    left_out = _left_out(hidden, old)
    lines = _unchecked(report)
    if report.findings:
        files = len({finding.filename for finding in report.findings})
        more = f", and {left_out}" if left_out else ""
        lines.append(f"Found {_count(len(report.findings), 'finding')} in {_count(files, 'file')}{more}.")
        lines += [*_offer(report), _sureness(report, possible)]
    elif left_out:
        lines.append(f"No new findings, {left_out}.")
    elif not report.errors:
        lines.append(_all_well(of_nothing, possible))
    return "".join(f"{line}\n" for line in lines)


def _sureness(report: Report, hidden: int | None) -> str:
    """The counts of certain and possible findings, and the option that shows more or fewer."""
    if hidden is not None:
        return f"All are certain (high confidence){_hidden(hidden)}."
    certain = sum(finding.confidence == "high" for finding in report.findings)
    possible = len(report.findings) - certain
    more = "; `--confidence high` shows the certain ones alone" if possible else ""
    return f"{certain} certain (high confidence), {possible} possible{more}."


def _hidden(possible: int) -> str:
    return f"; {_count(possible, 'possible finding')} hidden, `--confidence medium` shows them" if possible else ""


def _left_out(hidden: int, old: int) -> str:
    parts = [*([f"{hidden} in the baseline"] if hidden else []), *([f"{old} on unchanged lines"] if old else [])]
    return " and ".join(parts)


def summary_of_fix(
    report: Report,
    fixed: Sequence[Finding],
    hidden: int = 0,
    *,
    old: int = 0,
    written: bool,
    of_nothing: bool,
    possible: int | None = None,
) -> str:
    """The closing words of `tonumpy fix`, whose report holds the findings that are left; the rest as in `check`."""
    lines, left_out = _unchecked(report), _left_out(hidden, old)
    more = f"; left alone: {left_out}" if left_out else ""
    if fixed:
        files = len({finding.filename for finding in fixed})
        left = f", {len(report.findings)} left" if report.findings else ""
        done = "Fixed" if written else "Would fix"
        lines.append(f"{done} {_count(len(fixed), 'finding')} in {_count(files, 'file')}{left}{more}.")
    elif report.findings:
        lines.append(f"Fixed nothing, {_count(len(report.findings), 'finding')} left{more}.")
    elif left_out:
        lines.append(f"No new findings, {left_out}.")
    elif not report.errors:
        lines.append(_all_well(of_nothing, possible))
    return "".join(f"{line}\n" for line in lines + _offer(report))


def _all_well(of_nothing: bool, possible: int | None) -> str:
    if of_nothing:
        return "No files were checked."
    return f"No finding is certain (high confidence){_hidden(possible)}." if possible else "All checks passed!"


def summary_of_silence(silenced: Sequence[Finding]) -> str:
    """The closing words of `tonumpy check --add-noqa`."""
    if not silenced:
        return "No findings to silence.\n"
    files = len({finding.filename for finding in silenced})
    return f"Silenced {_count(len(silenced), 'finding')} in {_count(files, 'file')}.\n"


def repairs(fixed: Sequence[Finding], *, written: bool) -> str:
    """The list of what `fix` has repaired, and where that was before it did."""
    done = "fixed" if written else "would fix"
    return "".join(
        f"{visible_path(each.place)}: {done} {each.code}: {each.fix.message}\n"
        for each in fixed
        if each.fix is not None
    )


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
