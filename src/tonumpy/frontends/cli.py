"""argv in; reports on stdout, errors on stderr, repaired files on disk and the exit code out; no analysis here."""

from __future__ import annotations

import os
import sys

from tonumpy.config import Choices, ConfigError, Configuration
from tonumpy.findings import SourceError
from tonumpy.frontends import streams
from tonumpy.frontends.arguments import parse_arguments
from tonumpy.frontends.streams import StreamError
from tonumpy.frontends.streams import write as _write
from tonumpy.frontends.streams import write_bytes as _write_bytes
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.visible import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TextIO, TypeVar

    from tonumpy.frontends.run import Change, Outcome
    from tonumpy.report import Report

    _T = TypeVar("_T")

CLEAN, FINDINGS, ERRORS, SIGNALLED = 0, 1, 2, 128  # and the number of the signal


def main(argv: Sequence[str] | None = None) -> int:
    try:
        streams.prepare()
        try:
            return _main(argv)
        finally:
            streams.flush()
    except (ConfigError, ChildProcessError, StreamError) as error:
        _write(f"tonumpy: error: {visible(str(error))}\n", sys.stderr)
        return ERRORS
    except KeyboardInterrupt as interrupt:
        if str(interrupt):
            _write(f"tonumpy: error: {interrupt}\n", sys.stderr)
        return SIGNALLED + getattr(interrupt, "number", 2)
    except Exception:  # a defect of ours, which must not look like findings
        import traceback

        _write(f"tonumpy: internal error, please report it:\n{traceback.format_exc()}", sys.stderr)
        return ERRORS


def _main(argv: Sequence[str] | None) -> int:
    arguments = parse_arguments(sys.argv[1:] if argv is None else argv)
    try:
        os.getcwd()  # every relative path needs it
    except OSError as error:
        raise ConfigError(f"the current folder: {error.strerror}") from error
    commands = {
        "check": _check,
        "fix": _fix,
        "sweep": _sweep,
        "why": _why,
        "explain": _explain,
        "rules": _rules,
        "habits": _habits,
        "server": _server,
    }
    return commands[arguments.command](arguments)


def _check(arguments: argparse.Namespace) -> int:
    from tonumpy.report import format_named
    from tonumpy.report.text import summary_of_check

    form = format_named(arguments.output_format)
    render = getattr(form, "render_statistics", None) if arguments.statistics else form.render
    if render is None:
        raise ConfigError(f"--statistics cannot be given as {arguments.output_format}")
    report = _run(arguments, "check").report()._replace(shows_evidence=arguments.show_evidence)
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
        _write_diff(run.changes)
    elif run.stdin is not None:
        speech = sys.stderr
        _write_bytes(run.changes[0][1].new if run.changes else run.stdin)
    else:
        run = run.written(arguments.paths)
    report = run.report()
    _write(text.render(report, colour=_has_colour(speech)), speech)
    _write_errors(report.errors)
    if not arguments.quiet:
        fixed = [finding for outcome in run.outcomes for finding in outcome.fixed]
        _write(text.summary_of_fix(report, fixed, written=not arguments.diff), speech)
    if report.errors:
        return ERRORS
    return FINDINGS if report.findings or (arguments.diff and run.changes) else CLEAN


def _sweep(arguments: argparse.Namespace) -> int:
    from tonumpy.sweep.command import sweep  # saves start-up

    checked = parse_arguments(["check", *arguments.check_options])
    if checked.paths or checked.stdin_filename is not None:
        raise ConfigError("sweep takes options of `tonumpy check` behind `--`, but no paths")
    return sweep(arguments, checked)


def _explain(arguments: argparse.Namespace) -> int:
    from tonumpy.config import suggestion
    from tonumpy.rules import all_rules

    asked = arguments.rule
    for rule in all_rules():
        if asked.upper() == rule.code or asked.lower() == rule.name:
            _write(f"{rule.page}\n", sys.stdout)
            return CLEAN
    if asked.lower().startswith("habit/"):
        return _explain_habit(asked.lower().removeprefix("habit/"))
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


def _explain_habit(asked: str) -> int:
    from tonumpy.config import suggestion  # saves start-up
    from tonumpy.inference.habits import all_habits  # saves start-up

    for habit in all_habits():
        if asked == habit.id:
            _write(f"{habit.page}\n", sys.stdout)
            return CLEAN
    known = [habit.id for habit in all_habits()]
    raise ConfigError(f"there is no habit `{asked}`{suggestion(asked, known)}")


def _habits(arguments: argparse.Namespace) -> int:
    from tonumpy.inference.habits import all_habits  # saves start-up

    if arguments.output_format == "json":
        import json

        entries = [
            {
                "id": habit.id,
                "effect": habit.effect,
                "applies_to": habit.applies_to,
                "summary": habit.summary,
                "explanation": habit.page,
            }
            for habit in all_habits()
        ]
        _write(json.dumps(entries, indent=2) + "\n", sys.stdout)
        return CLEAN
    width = max(len(habit.id) for habit in all_habits())
    for habit in all_habits():
        _write(f"{habit.id:<{width}}  {habit.summary}\n", sys.stdout)
    return CLEAN


def _why(arguments: argparse.Namespace) -> int:
    from tonumpy.frontends.disk import read  # saves start-up
    from tonumpy.inference.index.project import Project  # saves start-up
    from tonumpy.report.evidence import explanation  # saves start-up
    from tonumpy.text.sources import source_of  # saves start-up
    from tonumpy.why import explain  # saves start-up

    filename, row, column = _place(arguments.place)
    filename, cell = _cell(filename)
    settings = Configuration(_choices(arguments), arguments.config, arguments.isolated).settings_in(
        os.path.dirname(filename)
    )
    try:
        source = source_of(read(filename), filename)
        found = source.explained(explain(source, settings, Project(), source.row_of(cell, row)))
        _write_errors(source.skipped)
    except ValueError as error:
        raise ConfigError(f"{arguments.place}: {error}") from error
    except SourceError as error:
        _write_errors([error])
        return ERRORS
    if column is not None:
        found = [each for each in found if each.start.column == column] or found
    if not found:
        raise ConfigError(f"{arguments.place}: there is no conversion in this row")
    _write("\n".join(explanation(filename, each) for each in found), sys.stdout)
    return CLEAN


def _cell(text: str) -> tuple[str, int | None]:
    """The file and the cell of FILE:cell NUMBER, as they are reported."""
    filename, _, last = text.rpartition(":cell ")
    return (filename, int(last)) if filename and last.isdecimal() else (text, None)


def _place(text: str) -> tuple[str, int, int | None]:
    """The file, the row and perhaps the column of FILE:ROW[:COLUMN]; a file's own name may hold colons."""
    rest, _, last = text.rpartition(":")
    before, _, middle = rest.rpartition(":")
    if before and last.isdecimal() and middle.isdecimal():
        return before, int(middle), int(last)
    if rest and last.isdecimal():
        return rest, int(last), None
    raise ConfigError(f"`{text}`: expected FILE:ROW or FILE:ROW:COLUMN")


def _server(_: argparse.Namespace) -> int:
    try:
        from tonumpy.frontends.language_server import serve  # with libraries that cost more than the rest at start-up
    except ModuleNotFoundError as error:
        raise ConfigError(f"the server needs {error.name}: pip install 'tonumpy[server]'") from error
    serve()
    return CLEAN


class _Run(NamedTuple):
    """What was done: one outcome for each file that may hold a candidate, in the order of the files."""

    outcomes: list[Outcome]
    errors: list[SourceError]
    stdin: bytes | None

    @property
    def changes(self) -> list[tuple[str, Change]]:
        """Each file that changes, by its name."""
        return [(each.task.filename, each.change) for each in self.outcomes if each.change is not None]

    def report(self) -> Report:
        from tonumpy.report import Report

        findings = [finding for outcome in self.outcomes for finding in outcome.findings]
        unsafe = frozenset(each.task.filename for each in self.outcomes if each.task.settings.unsafe_fixes)
        return Report(findings, sorted(self.errors, key=lambda error: error.filename), unsafe)

    def written(self, arguments: Sequence[str]) -> _Run:
        """Write what changed. This comes after the last file was looked at, because what one holds tells of others."""
        from tonumpy.frontends.writing import write_all  # here for a quick start-up of check

        errors = write_all(self.changes, arguments)
        failed = {error.filename for error in errors}
        kept = [outcome for outcome in self.outcomes if outcome.task.filename not in failed]
        return self._replace(outcomes=kept, errors=[*self.errors, *errors])


def _run(arguments: argparse.Namespace, command: str) -> _Run:
    """Read every file, and hand those that may hold a candidate to the analysis, which else is not even imported."""
    configuration = Configuration(_choices(arguments), arguments.config, arguments.isolated)
    errors: list[SourceError] = []
    stdin = None
    if _reads_stdin(arguments):
        stdin = streams.read_stdin()
        candidates = [arguments.stdin_filename or "-"]
    else:
        candidates = list(_candidates(arguments, configuration, errors))
    outcomes = []
    if candidates:
        from tonumpy.frontends import run
        from tonumpy.frontends.parallel import outcomes_of

        tasks = [run.Task(path, stdin, configuration.settings_in(os.path.dirname(path))) for path in candidates]
        work = run.check if command == "check" else run.fix
        done = outcomes_of(work, tasks, configuration.settings_in("").jobs)
        outcomes = list(_with_progress(done, len(tasks), arguments))
        errors += [error for outcome in outcomes for error in outcome.errors]
    return _Run(outcomes, errors, stdin)


def _candidates(
    arguments: argparse.Namespace, configuration: Configuration, errors: list[SourceError]
) -> Iterator[str]:
    from tonumpy.frontends.disk import read
    from tonumpy.frontends.files import find_files
    from tonumpy.text.prefilter import may_hold_candidates, may_hold_consumers

    found = find_files(arguments.paths or [os.curdir], configuration)
    errors += found.errors
    _write("".join(f"tonumpy: warning: {visible(warning)}\n" for warning in found.warnings), sys.stderr)
    if not found.files and not found.errors and not found.excluded:
        if not arguments.paths or getattr(arguments, "exit_zero", False):
            _write("tonumpy: warning: no Python files found under the given paths\n", sys.stderr)
        else:
            errors += [SourceError(path, "no Python files found here, nothing was checked") for path in arguments.paths]
    if arguments.command == "fix" and not arguments.diff:
        from tonumpy.frontends.writing import remove_leftovers  # here for a quick start-up of check

        remove_leftovers({os.path.dirname(path) or os.curdir for path in found.files})
    for path in _with_progress(found.files, len(found.files), arguments):
        try:
            data = read(path)
        except SourceError as error:
            errors.append(error)
            continue
        if may_hold_candidates(data) or (may_hold_consumers(data) and _judges_arguments(path, configuration)):
            yield path


def _judges_arguments(path: str, configuration: Configuration) -> bool:
    from tonumpy.config import judges_arguments

    return judges_arguments(configuration.settings_in(os.path.dirname(path)))


def _with_progress(items: Iterable[_T], total: int, arguments: argparse.Namespace) -> Iterable[_T]:
    if arguments.quiet or not sys.stderr.isatty():
        return items
    from tonumpy.frontends.progress import with_progress

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
        lines.append(f"{visible(f'{error.place}: error: {error.reason}')}\n")
    _write("".join(lines), sys.stderr)


def _write_diff(changes: Iterable[tuple[str, Change]]) -> None:
    from tonumpy.repair.diff import unified_diff

    for filename, change in changes:
        _write_bytes(b"".join(unified_diff(filename, change.old, change.new)))


def _has_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")
