"""The command: reads its arguments, calls the analysis, prints reports and errors, and chooses the exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from argparse import Namespace
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from tonumpy.boundary.signals import current, raised
from tonumpy.cli import standard_streams
from tonumpy.cli.cli_arguments import configuration_of, parse_arguments, reads_stdin
from tonumpy.cli.disk import read
from tonumpy.cli.files import find_files, is_kept_out
from tonumpy.cli.standard_streams import StreamError
from tonumpy.cli.work import Run, in_order
from tonumpy.config import ConfigError, may_have_findings
from tonumpy.findings import SourceError
from tonumpy.report.parts import closing_words
from tonumpy.text.visible import visible_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import TextIO

    from tonumpy.cli.diff_base import DiffBase
    from tonumpy.cli.outcomes import Outcome
    from tonumpy.cli.result_cache import ResultCache
    from tonumpy.config import Configuration
    from tonumpy.report import Report

MANY = 8  # files, from which on the result cache is used: opening it takes 10 ms, as long as checking a few files
CLEAN, FINDINGS, ERRORS = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    with raised() as signals:
        try:
            code = _guarded(argv)
            signals.check()
        except KeyboardInterrupt:
            signals.tell()
            return signals.code
        return code


def _guarded(argv: Sequence[str] | None) -> int:
    try:
        standard_streams.prepare()
        try:
            return _main(argv)
        finally:
            standard_streams.flush()
    except (ConfigError, ChildProcessError, StreamError) as error:
        standard_streams.write(f"tonumpy: error: {visible_path(str(error))}\n", sys.stderr)
        return ERRORS
    except Exception:  # an internal error must not look like findings
        import traceback

        standard_streams.write(f"tonumpy: internal error, please report it:\n{traceback.format_exc()}", sys.stderr)
        return ERRORS


def _main(argv: Sequence[str] | None) -> int:
    arguments = parse_arguments(sys.argv[1:] if argv is None else argv)
    try:
        os.getcwd()  # every relative path needs it
    except OSError as error:
        raise ConfigError(f"the current folder: {error.strerror}") from error
    module, _, name = _COMMANDS[arguments.command].rpartition(".")
    command: Callable[[argparse.Namespace], int] = getattr(import_module(module), name) if module else globals()[name]
    return command(arguments)


# Each takes the arguments and returns the exit code; those in other modules are imported only when run: start-up.
_COMMANDS = {
    "check": "_check",
    "fix": "_fix",
    "baseline": "_baseline",
    "sweep": "tonumpy.sweep.command.sweep",
    "rehearse": "tonumpy.cli.rehearse.rehearse",
    "why": "tonumpy.cli.why_command.why",
    "clean": "tonumpy.cli.cache_folder.clean_cache",
    "explain": "tonumpy.cli.pages.explain",
    "rules": "tonumpy.cli.pages.list_rules",
    "habits": "tonumpy.cli.pages.list_habits",
    "server": "_server",
}


def _check(arguments: argparse.Namespace) -> int:
    name, form = standard_streams.format_of(arguments, sys.stdout, configuration_of(arguments))
    render = getattr(form, "render_statistics", None) if arguments.statistics else form.render
    if render is None:
        raise ConfigError(f"--statistics is not available in the format {name}")
    if arguments.show_files or arguments.show_settings:
        return _show(arguments)
    if arguments.watch:
        return _watch(arguments)
    if arguments.add_noqa:
        return _add_noqa(arguments)
    with _diff_base(arguments) as base:
        run = process_files(arguments, "check")
        report, unsaid = _to_be_told(run, arguments, base)
    report = report._replace(shows_evidence=arguments.show_evidence)
    standard_streams.publish(render, report, sys.stdout, arguments)
    standard_streams.write_errors(report.errors)
    if standard_streams.is_for_people(form) and not arguments.quiet:
        standard_streams.write(closing_words.summary_of_check(report, unsaid), sys.stdout)
    if report.errors:
        return ERRORS
    return FINDINGS if report.findings and not arguments.exit_zero else CLEAN


def _watch(arguments: argparse.Namespace) -> int:
    from tonumpy.cli.watching import watch  # only here: start-up

    if arguments.add_noqa or reads_stdin(arguments):
        raise ConfigError("--watch checks files again: no --add-noqa, no standard input")
    del arguments.configuration  # it may change, too
    arguments.watch = False
    return watch(arguments.paths or [os.curdir], lambda: _check(Namespace(**vars(arguments))))


def _diff_base(arguments: argparse.Namespace) -> AbstractContextManager[DiffBase | None]:
    if arguments.diff_base is None:
        return nullcontext()
    from tonumpy.cli.diff_base import diff_base  # only here: start-up

    return diff_base(arguments.diff_base)


def _show(arguments: argparse.Namespace) -> int:
    """Print the files or settings of a check instead of checking."""
    configuration = configuration_of(arguments)
    errors: list[SourceError] = []
    stdin = reads_stdin(arguments)
    files = _given_on_stdin(arguments, configuration) if stdin else named_files(arguments, configuration, errors)
    if arguments.show_files:
        text = "".join(f"{visible_path(path)}\n" for path in files)
    else:
        from tonumpy.cli.show_settings import render  # only here: start-up

        text = render(files, configuration)
    standard_streams.write(text, sys.stdout)
    standard_streams.write_errors(errors)
    return ERRORS if errors else CLEAN


def _add_noqa(arguments: argparse.Namespace) -> int:
    """Add a `# noqa` comment beside every finding instead of reporting it."""
    if arguments.diff_base is not None:
        raise ConfigError("--add-noqa cannot be combined with --diff-base")
    if reads_stdin(arguments):
        raise ConfigError("--add-noqa cannot be used with standard input")
    run = process_files(arguments, "add-noqa").written()
    standard_streams.write_errors(run.report().errors)
    if not arguments.quiet:
        silenced = [finding for outcome in run.outcomes for finding in outcome.fixed]
        standard_streams.write(closing_words.summary_of_silence(silenced), sys.stdout)
    return ERRORS if run.errors else CLEAN


def _to_be_told(run: Run, arguments: argparse.Namespace, base: DiffBase | None) -> tuple[Report, closing_words.Unsaid]:
    """The report without the findings in the baseline and on unchanged lines, and the counts of what it leaves out."""
    report, hidden = _without_baseline(run, arguments)
    report, old = (report, 0) if base is None else base.only_new(report)
    return report, closing_words.Unsaid(hidden, old, not run.looked_at, run.is_certain_only)


def _without_baseline(run: Run, arguments: argparse.Namespace) -> tuple[Report, int]:
    """The report without the baseline's findings, and their number."""
    report = run.report()
    path = configuration_of(arguments).settings_in("").baseline
    if path is None:
        return report, 0
    from tonumpy.cli import baseline  # only here: start-up

    return baseline.without(path, report)


def _baseline(arguments: argparse.Namespace) -> int:
    from tonumpy.cli import baseline  # only here: start-up

    if reads_stdin(arguments):
        raise ConfigError("baseline cannot be used with standard input")
    configuration = configuration_of(arguments)
    path = configuration.settings_in("").baseline or baseline.DEFAULT
    run = process_files(arguments, "check")
    report = run.report()
    standard_streams.write_errors(report.errors)
    if report.errors:
        standard_streams.write(f"tonumpy: {path}: not written because of these errors\n", sys.stderr)
        return ERRORS
    count = baseline.write(path, report, run.looked_at)
    if not arguments.quiet:
        is_set = arguments.baseline is None and configuration.settings_in("").baseline is not None
        standard_streams.write(baseline.words_of_written(path, count, is_set=is_set), sys.stdout)
    return CLEAN


def _fix(arguments: argparse.Namespace) -> int:
    with _diff_base(arguments) as base:
        run = _repaired(arguments, base)
        run, speech = _delivered(run, arguments)
        report, unsaid = _to_be_told(run, arguments, base)
    _, form = standard_streams.format_of(arguments, speech, configuration_of(arguments))
    standard_streams.publish(form.render, report, speech, arguments)
    standard_streams.write_errors(report.errors)
    fixed = [finding for outcome in run.outcomes for finding in outcome.fixed]
    is_free = standard_streams.is_for_people(form) or bool(arguments.output_file)  # the stream for more than the report
    if arguments.show_fixes:
        told = closing_words.repairs(fixed, written=not arguments.diff)
        standard_streams.write(told, speech if is_free else sys.stderr)
    if is_free and not arguments.quiet:
        told = closing_words.summary_of_fix(report, fixed, unsaid, written=not arguments.diff)
        standard_streams.write(told, speech)
    if report.errors:
        return ERRORS
    return FINDINGS if report.findings or (arguments.diff and run.changes) else CLEAN


def _delivered(run: Run, arguments: argparse.Namespace) -> tuple[Run, TextIO]:
    """Show the changes or write them; return the run and the stream for messages: stderr if stdout has the result."""
    if arguments.diff:
        standard_streams.write_diff(run.changes, colour=standard_streams.has_colour(sys.stdout, arguments))
        return run, sys.stderr
    if run.stdin is not None:
        standard_streams.print_bytes(run.changes[0][1].new if run.changes else run.stdin)
        return run, sys.stderr
    return run.written(), sys.stdout


def _repaired(arguments: argparse.Namespace, base: DiffBase | None) -> Run:
    """The run of `fix`, with nothing written yet.

    With a baseline or a commit to compare with, `check` runs first, and only the findings that it reports are repaired.
    """
    path = configuration_of(arguments).settings_in("").baseline
    holds_baseline = path is not None and not arguments.fix_baselined
    if not holds_baseline and base is None:
        return process_files(arguments, "fix")
    before = process_files(arguments, "check")
    report = _without_baseline(before, arguments)[0] if holds_baseline else before.report()
    report = report if base is None else base.only_new(report)[0]
    return before.repaired(report.findings, configuration_of(arguments))


def _server(_: argparse.Namespace) -> int:
    try:
        from tonumpy.integrations.language_server import serve  # start-up
    except ModuleNotFoundError as error:
        remedy = "in a clone of tonumpy, run `pip install '.[server]'`"
        raise ConfigError(f"the server needs {error.name}: {remedy}") from error
    current().is_patient = False  # a thread of it waits for the editor
    return CLEAN if serve() else 1  # the protocol's codes


def process_files(arguments: argparse.Namespace, command: str) -> Run:
    """Read every file, and analyse those that may hold a candidate; without any, the analysis is not even imported."""
    configuration = configuration_of(arguments)
    for code in configuration.settings_in("").selected_in_vain():
        standard_streams.write(f"tonumpy: warning: {code} is a preview rule: it needs `--preview`\n", sys.stderr)
    observed = configuration.settings_in("").observed
    if observed:
        from tonumpy.observed.record import read_record  # only where there is one: start-up

        read_record(observed)  # so that an error is reported once, not for each file
    errors: list[SourceError] = []
    stdin = None
    outcomes: list[Outcome] = []
    known: dict[str, Outcome] = {}
    with contextlib.ExitStack() as opened:
        result_cache = None
        if reads_stdin(arguments):
            stdin = standard_streams.read_stdin()
            files = candidates = _given_on_stdin(arguments, configuration)
        else:
            files = named_files(arguments, configuration, errors)
            result_cache = _result_cache(arguments, configuration, command) if len(files) >= MANY else None
            if result_cache is not None:
                opened.callback(result_cache.close)
            candidates = list(candidate_files(files, configuration, errors, result_cache, known))
        if candidates:
            from tonumpy.cli.outcomes import Task  # only where there are candidates: start-up

            tasks = [Task(path, stdin, configuration.settings_of(path)) for path in candidates]
            done = in_order(command, tasks, configuration.settings_in("").jobs, known, result_cache)
            for outcome in done:
                done_to = f"{len(outcome.findings)} found, {len(outcome.fixed)} fixed"
                _tell(arguments, f"{outcome.task.filename}: {done_to}")
                outcomes.append(outcome)
            errors += [error for outcome in outcomes for error in outcome.errors]
        if result_cache is not None:
            _tell(arguments, f"files unchanged since an earlier run: {result_cache.taken}")
            result_cache.save()
    return Run(outcomes, errors, stdin, files)


def _given_on_stdin(arguments: argparse.Namespace, configuration: Configuration) -> list[str]:
    """The name of standard input, as a list; empty if `force_exclude` leaves that name out."""
    path = arguments.stdin_filename
    is_out = path is not None and is_kept_out(path, configuration.settings_of(path))
    return [] if is_out else [path or "-"]


def _result_cache(arguments: argparse.Namespace, configuration: Configuration, command: str) -> ResultCache | None:
    """The cache of earlier runs' results; None if it is not used."""
    if arguments.no_cache or os.environ.get("TONUMPY_NO_CACHE") or command == "add-noqa":
        return None
    if configuration.settings_in("").observed:  # the next run may have seen more
        return None
    from tonumpy.cli.cache_folder import open_result_cache  # not for a few files: start-up

    return open_result_cache(arguments.cache_dir, configuration, repairs=command == "fix")


def named_files(arguments: argparse.Namespace, configuration: Configuration, errors: list[SourceError]) -> list[str]:
    paths = arguments.paths or [os.curdir]
    writes = arguments.command == "fix" or getattr(arguments, "add_noqa", False)
    found = find_files(paths, configuration, to_write=writes).with_nothing_told()
    errors += found.errors
    standard_streams.write(
        "".join(f"tonumpy: warning: {visible_path(warning)}\n" for warning in found.warnings), sys.stderr
    )
    if arguments.verbose:
        _tell(arguments, f"files to check: {len(found.files)}")
        for origin in sorted({configuration.governed(os.path.dirname(path))[1] or "" for path in found.files}):
            _tell(arguments, f"settings from {origin or 'no file'}")
    return found.files


def _tell(arguments: argparse.Namespace, what: str) -> None:
    if arguments.verbose:
        standard_streams.write(f"tonumpy: {visible_path(what)}\n", sys.stderr)


def candidate_files(
    files: list[str],
    configuration: Configuration,
    errors: list[SourceError],
    result_cache: ResultCache | None,
    known: dict[str, Outcome],
) -> Iterator[str]:
    """Yield the files that may hold a candidate; put their outcomes from `result_cache` into `known`."""
    has_observations = bool(configuration.settings_in("").observed)  # these may be of any file
    for path in files:
        settings = configuration.settings_of(path)
        outcome = result_cache.known(path, settings) if result_cache is not None else None
        if outcome is not None:
            known[path] = outcome
            yield path
            continue
        try:
            data = read(path)
        except SourceError as error:
            errors.append(error)
            continue
        if has_observations or may_have_findings(data, partial(configuration.settings_of, path)):
            yield path
