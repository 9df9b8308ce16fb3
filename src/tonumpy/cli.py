"""argv in; reports on stdout, errors on stderr, repaired files on disk and the exit code out; no analysis here."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TextIO, TypeVar

from tonumpy.config import Choices, ConfigError, Configuration, read_codes, read_globs, read_jobs
from tonumpy.findings import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tonumpy.config import Exclude
    from tonumpy.report import Report
    from tonumpy.run import Outcome

_T = TypeVar("_T")

CLEAN, FINDINGS, ERRORS, INTERRUPTED = 0, 1, 2, 130

_EXIT_CODES = """\
exit codes:
  0  nothing found, or everything found was fixed
  1  findings are left
  2  a file could not be read, parsed or written, or the command or a configuration file is wrong"""


def main(argv: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file name or a message may hold what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        return _main(argv)
    except (ConfigError, ChildProcessError) as error:
        _write(f"tonumpy: error: {error}\n", sys.stderr)
        return ERRORS
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(argv: Sequence[str] | None) -> int:
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        parser.print_help()
        return ERRORS
    try:
        os.getcwd()  # every relative path needs it
    except OSError as error:
        raise ConfigError(f"the current folder: {error.strerror}") from error
    code: int = arguments.command(arguments)
    return code


def _check(arguments: argparse.Namespace) -> int:
    from tonumpy.report import format_named
    from tonumpy.report.text import summary_of_check

    form = format_named(arguments.output_format)
    render = getattr(form, "render_statistics", None) if arguments.statistics else form.render
    if render is None:
        raise ConfigError(f"--statistics cannot be given as {arguments.output_format}")
    report = _run(arguments, "check").report()
    _write(render(report, colour=_has_colour(sys.stdout)), sys.stdout)
    _write_errors(report.errors)
    if arguments.output_format == "text" and not arguments.quiet:
        _write(summary_of_check(report), sys.stdout)
    if report.errors:
        return ERRORS
    return FINDINGS if report.findings and not arguments.exit_zero else CLEAN


def _fix(arguments: argparse.Namespace) -> int:
    from tonumpy.report import text

    run = _run(arguments, "fix")
    speech = sys.stdout  # where people are spoken to: where stdout is for the product, stderr
    if arguments.diff:
        speech = sys.stderr
        _write_diff(run.changed)
    elif run.stdin is not None:
        speech = sys.stderr
        _write_bytes(run.changed[0].data if run.changed else run.stdin)
    else:
        run = run.written()
    report = run.report()
    _write(text.render(report, colour=_has_colour(speech)), speech)
    _write_errors(report.errors)
    if not arguments.quiet:
        fixed = [finding for outcome in run.outcomes for finding in outcome.fixed]
        _write(text.summary_of_fix(report, fixed, written=not arguments.diff), speech)
    if report.errors:
        return ERRORS
    return FINDINGS if report.findings or (arguments.diff and run.changed) else CLEAN


def _explain(arguments: argparse.Namespace) -> int:
    from tonumpy.config import suggestion
    from tonumpy.rules import all_rules

    asked = arguments.rule
    for rule in all_rules():
        if asked.upper() == rule.code or asked.lower() == rule.name:
            _write(f"{rule.page}\n", sys.stdout)
            return CLEAN
    known = [word for rule in all_rules() for word in (rule.code, rule.name)]
    raise ConfigError(f"no rule has the code or the name `{asked}`{suggestion(asked, known)}")


def _rules(arguments: argparse.Namespace) -> int:
    from tonumpy.rules import all_rules

    if arguments.output_format == "json":
        import json

        entries = [
            {
                "code": rule.code,
                "name": rule.name,
                "on_by_default": rule.on_by_default,
                "summary": rule.summary,
                "explanation": rule.page,
            }
            for rule in all_rules()
        ]
        _write(json.dumps(entries, indent=2) + "\n", sys.stdout)
        return CLEAN
    width = max(len(rule.name) for rule in all_rules())
    _write(f"{'code':<6}  {'name':<{width}}  default  what it finds\n", sys.stdout)
    for rule in all_rules():
        default = "on" if rule.on_by_default else "off"
        _write(f"{rule.code:<6}  {rule.name:<{width}}  {default:<7}  {rule.summary}\n", sys.stdout)
    return CLEAN


class _Run(NamedTuple):
    """What was done: one outcome for each file that may hold a candidate, in the order of the files."""

    outcomes: list[Outcome]
    errors: list[SourceError]
    stdin: bytes | None

    @property
    def changed(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.data != outcome.task.data]

    def report(self) -> Report:
        from tonumpy.report import Report

        findings = [finding for outcome in self.outcomes for finding in outcome.findings]
        unsafe = frozenset(each.task.filename for each in self.outcomes if each.task.settings.unsafe_fixes)
        return Report(findings, sorted(self.errors, key=lambda error: error.filename), unsafe)

    def written(self) -> _Run:
        """Write what changed. This comes after the last file was looked at, because what one holds tells of others."""
        from tonumpy.disk import write

        errors = []
        for outcome in self.changed:
            try:
                write(outcome.task.filename, outcome.task.data, outcome.data)
            except SourceError as error:
                errors.append(error)
        failed = {error.filename for error in errors}
        kept = [outcome for outcome in self.outcomes if outcome.task.filename not in failed]
        return self._replace(outcomes=kept, errors=[*self.errors, *errors])


def _run(arguments: argparse.Namespace, command: str) -> _Run:
    """Read every file, and hand those that may hold a candidate to the analysis, which else is not even imported."""
    configuration = Configuration(_choices(arguments), arguments.config, arguments.isolated)
    errors: list[SourceError] = []
    stdin = None
    if _reads_stdin(arguments):
        stdin = sys.stdin.buffer.read()
        candidates = [(arguments.stdin_filename or "-", stdin)]
    else:
        candidates = list(_candidates(arguments, configuration, errors))
    outcomes = []
    if candidates:
        from tonumpy import run
        from tonumpy.parallel import outcomes_of

        tasks = [run.Task(path, data, configuration.settings_in(os.path.dirname(path))) for path, data in candidates]
        work = run.check if command == "check" else run.fix
        done = outcomes_of(work, tasks, configuration.settings_in("").jobs)
        outcomes = list(_with_progress(done, len(tasks), arguments))
        errors += [outcome.error for outcome in outcomes if outcome.error is not None]
    return _Run(outcomes, errors, stdin)


def _candidates(
    arguments: argparse.Namespace, configuration: Configuration, errors: list[SourceError]
) -> Iterator[tuple[str, bytes]]:
    from tonumpy.disk import read
    from tonumpy.files import find_files
    from tonumpy.source import may_hold_candidates

    found = find_files(arguments.paths or [os.curdir], configuration)
    errors += found.errors
    _write("".join(f"tonumpy: warning: {warning}\n" for warning in found.warnings), sys.stderr)
    if not found.files and not found.errors:
        _write("tonumpy: warning: no Python files found under the given paths\n", sys.stderr)
    for path in _with_progress(found.files, len(found.files), arguments):
        try:
            data = read(path)
        except SourceError as error:
            errors.append(error)
            continue
        if may_hold_candidates(data):
            yield path, data


def _with_progress(items: Iterable[_T], total: int, arguments: argparse.Namespace) -> Iterable[_T]:
    if arguments.quiet or not sys.stderr.isatty():
        return items
    from tonumpy.progress import with_progress

    return with_progress(items, total)


def _reads_stdin(arguments: argparse.Namespace) -> bool:
    if "-" in arguments.paths and len(arguments.paths) > 1:
        raise ConfigError("`-` (standard input) cannot be given together with other paths")
    if arguments.stdin_filename is not None and arguments.paths not in ([], ["-"]):
        raise ConfigError("--stdin-filename names what is read from standard input (`-`), and there are other paths")
    return arguments.paths == ["-"] or arguments.stdin_filename is not None


def _choices(arguments: argparse.Namespace) -> Choices:
    """What the command line says, None where it says nothing; not every command has every option."""
    said: dict[str, Any] = {}
    for name, value in vars(arguments).items():
        if name in Choices._fields:
            said[name] = tuple(value) if isinstance(value, list) else value
    return Choices(**said)


def _write_errors(errors: Iterable[SourceError]) -> None:
    lines = []
    for error in errors:
        place = (
            error.filename
            if error.position is None
            else f"{error.filename}:{error.position.row}:{error.position.column}"
        )
        lines.append(f"{place}: error: {error.reason}\n")
    _write("".join(lines), sys.stderr)


def _write_diff(changed: Iterable[Outcome]) -> None:
    from tonumpy.diff import unified_diff

    for outcome in changed:
        _write_bytes(b"".join(unified_diff(outcome.task.filename, outcome.task.data, outcome.data)))


def _write(text: str, stream: TextIO) -> None:
    if text:
        with _pipe(stream):
            stream.write(text)
            stream.flush()


def _write_bytes(data: bytes) -> None:
    with _pipe(sys.stdout):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@contextmanager
def _pipe(stream: TextIO) -> Iterator[None]:
    """A reader that has read enough (`| head`) is no reason to stop, nor to end with another exit code."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _has_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tonumpy",
        description="Find and repair conversions of PyTorch tensors to NumPy that can raise or give wrong data.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    check = commands.add_parser("check", help="report findings", description="Report findings.", **_LAYOUT)
    _add_files(check)
    _add_selection(check)
    check.add_argument("--output-format", type=_format, default="text", metavar="FORMAT", help=_FORMATS)
    check.add_argument("--statistics", action="store_true", help="show only how many findings each code has")
    check.add_argument("-e", "--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    _add_run(check)
    check.set_defaults(command=_check)

    fix = commands.add_parser("fix", help="repair findings", description=_FIX, **_LAYOUT)
    _add_files(fix)
    _add_selection(fix)
    fix.add_argument(
        "--diff", action="store_true", help="write nothing, show what would change; exit with 1 if anything"
    )
    fix.add_argument("--unsafe-fixes", action=argparse.BooleanOptionalAction, help=_UNSAFE)
    fix.add_argument("--style", choices=("links", "force"), help="what to write: .detach().cpu() or .numpy(force=True)")
    _add_run(fix)
    fix.set_defaults(command=_fix)

    explain = commands.add_parser("explain", help="show the page of a rule", description="Show the page of a rule.")
    explain.add_argument("rule", metavar="CODE", help="a rule's code or name")
    explain.set_defaults(command=_explain)

    rules = commands.add_parser("rules", help="list all rules", description="List all rules.")
    rules.add_argument("--output-format", choices=("text", "json"), default="text")
    rules.set_defaults(command=_rules)
    return parser


_LAYOUT: dict[str, Any] = {"epilog": _EXIT_CODES, "formatter_class": argparse.RawDescriptionHelpFormatter}
_FORMATS = "text (the default), json (in ruff's shape), github or sarif"
_FIX = """\
Repair findings in place. From standard input (`-`) the repaired text goes to standard output.
What a repair would look like is shown by --diff."""
_UNSAFE = "also repair where nothing is known of the value but that torch is the only array framework in the file"


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, folders (default: this one) or - for stdin")
    group = parser.add_argument_group("files")
    globs: dict[str, Any] = {"action": "extend", "type": _globs, "metavar": "GLOB"}
    group.add_argument("--exclude", help="leave out what matches, in place of the configured `exclude`", **globs)
    group.add_argument("--extend-exclude", help="leave out what matches, too", **globs)
    group.add_argument("--force-exclude", action=argparse.BooleanOptionalAction, help="leave out even files named here")
    group.add_argument("--stdin-filename", metavar="PATH", help="the name of what is read from standard input")


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("rules")
    codes: dict[str, Any] = {"action": "extend", "type": _codes, "metavar": "CODE"}
    group.add_argument("--select", help="only these codes or beginnings of codes, separated by commas", **codes)
    group.add_argument("--ignore", help="all but these", **codes)
    group.add_argument("--strict", action=argparse.BooleanOptionalAction, help="ask for both links always (TNP300)")


def _add_run(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("run")
    group.add_argument(
        "--config", metavar="FILE", help="a TOML file with the [tool.tonumpy] table to use for all files"
    )
    group.add_argument("--isolated", action="store_true", help="read no configuration file")
    group.add_argument(
        "-j", "--jobs", type=_jobs, metavar="N", help="how many processes (default: auto, one for each core)"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="print findings and errors only")


class _Version(argparse.Action):
    """argparse's own action wants the version before it is asked for, which takes longer than all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from tonumpy import __version__

        _write(f"tonumpy {__version__}\n", sys.stdout)
        parser.exit()


def _codes(text: str) -> tuple[str, ...]:
    try:
        return read_codes([code.strip() for code in text.split(",") if code.strip()])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _globs(text: str) -> tuple[Exclude, ...]:
    return read_globs([glob.strip() for glob in text.split(",") if glob.strip()], os.getcwd())


def _jobs(text: str) -> int:
    try:
        return read_jobs(int(text) if text.isdecimal() else text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _format(text: str) -> str:
    from tonumpy.report import format_names

    if text not in format_names():
        raise argparse.ArgumentTypeError(f"there is no format `{text}`, but {', '.join(format_names())}")
    return text
