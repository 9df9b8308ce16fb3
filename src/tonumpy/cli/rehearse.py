"""The command `tonumpy rehearse`: runs the user's own program on a stand-in accelerator, reports, and repairs.

The only command that runs the code it reads.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from tonumpy.cli import standard_streams
from tonumpy.cli.cli_arguments import configuration_of
from tonumpy.cli.disk import Change, write_text
from tonumpy.cli.mending import left_of, mend, outcome_of
from tonumpy.config import ConfigError, Configuration
from tonumpy.findings import Finding, SourceError
from tonumpy.observed.record import Record, folder_of, read_record
from tonumpy.rehearsal.judging import Judged, judge_run
from tonumpy.rehearsal.process import CannotRunError, Ended, run_program
from tonumpy.rehearsal.repair_outcome import Outcome, RepairedFile, repaired
from tonumpy.rehearsal.summary import summary_of
from tonumpy.report import Report, is_fixable
from tonumpy.text.reading import read_regular
from tonumpy.text.source import Source


class Rehearsed(NamedTuple):
    """The result of a run and of repairs: `repairs` is None if none was asked for.

    `changes` are those to show for `--diff`.
    """

    ended: Ended
    judged: Judged
    report: Report
    repairs: Outcome | None
    changes: list[tuple[str, Change]]


FINDINGS, ERRORS = 1, 2
_SIGNALLED = 128  # plus the signal's number, as in shells


def rehearse(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    configuration = configuration_of(arguments)
    _, form = standard_streams.format_of(arguments, sys.stdout, configuration)
    rehearsed = rehearsed_of(arguments, configuration)
    speech = sys.stderr if arguments.diff else sys.stdout
    standard_streams.write_diff(rehearsed.changes, colour=standard_streams.has_colour(sys.stdout, arguments))
    try:
        standard_streams.publish(form.render, rehearsed.report, speech, arguments)
    except ConfigError:  # the file cannot be written; the run may have taken hours
        arguments.output_file = None
        standard_streams.publish(form.render, rehearsed.report, speech, arguments)
        raise
    standard_streams.write_errors(rehearsed.report.errors)
    if not arguments.quiet:
        told = speech if standard_streams.is_for_people(form) or arguments.output_file else sys.stderr
        standard_streams.write(summary(rehearsed, arguments), told)
    if rehearsed.report.errors:
        return ERRORS
    if rehearsed.report.findings or rehearsed.changes:
        return FINDINGS
    if rehearsed.ended.run.missed:
        return ERRORS
    code = rehearsed.ended.code
    return code if code >= 0 else _SIGNALLED - code


def rehearsed_of(arguments: argparse.Namespace, configuration: Configuration) -> Rehearsed:
    """Run the program, and repair if asked; ConfigError if the program cannot be started."""
    if not arguments.program:
        raise ConfigError("the program is missing: `tonumpy rehearse -- SCRIPT ARG...` or `-- -m MODULE ARG...`")
    if arguments.diff and not arguments.fix:
        raise ConfigError("--diff shows what `--fix` would change: give both")
    if arguments.observations is not None:
        _record_at(arguments.observations)  # an error is better reported before the run than after it
    ended = _run(arguments)
    judged = _judged(ended, arguments, configuration)
    if not arguments.fix:
        return Rehearsed(ended, judged, report_of(judged), None, [])
    files, errors = _repairs(judged)
    if arguments.diff:
        shown = Outcome(tuple(each.finding for file in files for each in file.judgements))
        changes = [(file.filename, Change(_data(file.source), file.data)) for file in files]
        return Rehearsed(ended, judged, report_of(judged, errors), shown, changes)
    if not files:
        return Rehearsed(ended, judged, report_of(judged, errors), Outcome(()), [])
    mended = mend(files, ended, lambda: _run(arguments), stops=arguments.stop)
    if mended.ended is not None:
        ended = mended.ended
        judged = _judged(ended, arguments, configuration)
    outcome = outcome_of(mended, judged)
    report = report_of(judged, [*errors, *mended.errors], left_of(judged.findings, outcome))
    return Rehearsed(ended, judged, report, outcome, [])


def summary(rehearsed: Rehearsed, arguments: argparse.Namespace) -> str:
    """The summary that closes the output."""
    ended, judged, report, repairs, _ = rehearsed
    how = f"{ended.how}; what else it had loaded is not known" if ended.code < 0 else ended.how
    option = None if arguments.unreached else "--unreached"
    return summary_of(ended.run, how, judged, report, repairs, is_shown=arguments.diff, option=option)


def _run(arguments: argparse.Namespace) -> Ended:
    """Run the program; it prints to standard error if the report takes standard output."""
    output = sys.stderr if arguments.output_file is None else sys.stdout
    try:
        return run_program(
            arguments.program, arguments.device, stop=arguments.stop, devices=arguments.devices, output=output
        )
    except CannotRunError as error:
        raise ConfigError(str(error)) from error


def _judged(ended: Ended, arguments: argparse.Namespace, configuration: Configuration) -> Judged:
    """Judge what the run has seen, and write it to the record."""
    judged = judge_run(ended.run, configuration.settings_of, fragile=arguments.fragile)
    if arguments.observations is not None:
        record(judged, arguments.observations)
    return judged


def record(judged: Judged, path: str) -> None:
    """Add the sightings in files below the working folder to the record at a path; ConfigError if that is none."""
    before = _record_at(path)
    seen = ((file.source, file.sightings) for file in judged.files if not os.path.isabs(file.source.filename))
    write_text(path, before.merged(seen, folder_of(path)).as_text(), kind="record")


def _record_at(path: str) -> Record:
    return read_record(path) if os.path.exists(path) else Record({})


def report_of(judged: Judged, errors: Sequence[SourceError] = (), findings: Sequence[Finding] | None = None) -> Report:
    """The report of a run's findings, or of the `findings` given instead."""
    sources = {file.source.filename: file.source for file in judged.files}
    found = [
        sources[finding.filename].placed(finding) if finding.filename in sources else finding
        for finding in sorted(
            judged.findings if findings is None else findings, key=lambda finding: (finding.filename, finding.start)
        )
    ]
    unsafe = frozenset(file.source.filename for file in judged.files if file.settings.unsafe_fixes)
    return Report(found, [*judged.errors, *errors], unsafe, read=read_regular)


def _repairs(judged: Judged) -> tuple[list[RepairedFile], list[SourceError]]:
    """The repairs of exactly the faults that were seen, in files below the working folder."""
    files, errors = [], list[SourceError]()
    for file in judged.files:
        due = [each for each in file.judgements if is_fixable(each.finding, unsafe=file.settings.unsafe_fixes)]
        if not due:
            continue
        try:
            if os.path.isabs(file.source.filename):
                raise SourceError(file.source.filename, "is outside of the folder at hand, so it is not repaired")
            files.append(repaired(file.source, due))
        except SourceError as error:
            errors.append(error)
    return files, errors


def _data(source: Source) -> bytes:
    return source.data or source.encode(source.text)
