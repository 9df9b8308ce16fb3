"""Parses the arguments of the command, and makes the configuration of a run of them, which stands over pyproject.toml.

An option that is wrong is a ConfigError that names it.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NoReturn

from tonumpy.cli.standard_streams import write
from tonumpy.config import Choices, ConfigError, Configuration, overlay, read_inline
from tonumpy.findings import CONFIDENCES, LINKS, STYLES
from tonumpy.formats import format_names, read_format
from tonumpy.globs import Exclude, FileIgnores, split_at_commas
from tonumpy.setting_values import CHOSEN, read_codes, read_file_ignores, read_globs, read_jobs

_EXIT_CODES = """\
exit codes:
  0  no findings, or all of them were fixed
  1  findings are left
  2  a file could not be read, parsed or written, or an option or the configuration is wrong"""


class _Parser(argparse.ArgumentParser):
    """Reports an error in one line, without the usage of a command that has dozens of options."""

    def error(self, message: str) -> NoReturn:
        if message == "unrecognized arguments: --fix":  # as other linters have it
            message = f"{message}; use `tonumpy fix`"
        raise ConfigError(f"{message.removeprefix('argument ')} (see `{self.prog} --help`)")


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """`command` names the command. An option that was not given is None or False, so that a file may decide."""
    parser, parsers = _parser(argv)
    own, rest = _split(argv, parsers)
    arguments, unknown = parser.parse_known_args(own)
    if unknown:
        parsers.get(arguments.command, parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    if arguments.command == "sweep":
        arguments.check_options = rest
    elif arguments.command == "rehearse":
        arguments.program = rest
    if arguments.command is None:
        parser.print_help()
        parser.exit(2)
    if "config" in arguments:
        given = arguments.config or ()
        arguments.config, arguments.said = _file_of(given), [each for each in given if not isinstance(each, str)]
    return arguments


def configuration_of(arguments: argparse.Namespace) -> Configuration:
    """Read once a run."""
    if "configuration" not in arguments:
        said = reduce(overlay, (*arguments.said, _choices(arguments)))
        arguments.configuration = Configuration(said, arguments.config, arguments.isolated)
    found: Configuration = arguments.configuration
    return found


def _choices(arguments: argparse.Namespace) -> Choices:
    """The choices of the command line; not every command has every option."""
    given = {name: value for name, value in vars(arguments).items() if name in CHOSEN and value is not None}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def reads_stdin(arguments: argparse.Namespace) -> bool:
    if "-" in arguments.paths and len(arguments.paths) > 1:
        raise ConfigError("`-` (standard input) cannot be combined with other paths")
    if arguments.stdin_filename is not None and arguments.paths not in ([], ["-"]):
        raise ConfigError("--stdin-filename needs standard input (`-`) as the only path")
    return arguments.paths == ["-"] or arguments.stdin_filename is not None


def _parser(argv: Sequence[str]) -> tuple[_Parser, Mapping[str, _Parser]]:
    """The parser, and that of each command; only the options of the command that is meant are added."""
    parser = _Parser(
        prog="tonumpy",
        description="Find and repair conversions of PyTorch tensors to NumPy that can raise or give wrong data.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    completion = "print the completion script of a shell: bash, zsh, fish, ..."
    parser.add_argument("--print-completion", action=_Completion, metavar="SHELL", help=completion)
    # Left to find out `prog` by itself, argparse formats a usage message at every start.
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog="tonumpy", dest="command")
    # The other commands and their options would only cost time.
    wanted = argv[:1] if argv and argv[0] in _COMMANDS else _COMMANDS
    for name in wanted:
        summary, add_options = _COMMANDS[name]
        form = argparse.RawDescriptionHelpFormatter
        command = commands.add_parser(name, help=summary, formatter_class=form, allow_abbrev=False)
        command.description = f"{summary.capitalize()}."
        if name in argv or "--print-completion" in argv:
            add_options(command)
    return parser, commands.choices


def _file_of(given: Sequence[str | Choices]) -> str | None:
    files = [each for each in given if isinstance(each, str)]
    if len(files) > 1:
        raise ConfigError(f"--config: one file may be given, found `{files[0]}` and `{files[1]}`")
    return files[0] if files else None


def _split(argv: Sequence[str], parsers: Mapping[str, _Parser]) -> tuple[Sequence[str], Sequence[str]]:
    """Split off the words behind `--`: options of another command in `tonumpy sweep`, a program in `tonumpy
    rehearse`, which needs no `--` before it."""
    if argv[:1] == ["rehearse"]:
        from tonumpy.rehearsal.rehearsal_options import program_at  # saves start-up

        at = program_at(argv, parsers["rehearse"])
    else:
        at = argv.index("--") if argv[:1] == ["sweep"] and "--" in argv else len(argv)
    return argv[:at], argv[at + 1 :] if argv[at : at + 1] == ["--"] else argv[at:]


def _add_check(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selection(parser)
    _add_output(parser)
    parser.add_argument("--show-evidence", action="store_true", help="show the evidence for each finding")
    parser.add_argument("--statistics", action="store_true", help="show only the number of findings per code")
    parser.add_argument("-e", "--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    parser.add_argument("--watch", action="store_true", help="check again whenever a file changes")
    parser.add_argument("--diff-base", metavar="REV", help=_DIFF_BASE)
    parser.add_argument("--add-noqa", action="store_true", help="add a `# noqa` comment to every finding")
    parser.add_argument("--show-files", action="store_true", help="list the files to check, and exit")
    parser.add_argument("--show-settings", action="store_true", help="show the settings of each file, and exit")
    _add_run(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output-format", type=_explained(read_format), metavar="FORMAT", help=_formats())
    parser.add_argument("-o", "--output-file", metavar="FILE", help="write the report to FILE, not to standard output")


def _add_fix(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selection(parser)
    parser.add_argument(
        "--diff", action="store_true", help="show the changes as a diff and write nothing; exit with 1 if there are any"
    )
    parser.add_argument("--unsafe-fixes", action=argparse.BooleanOptionalAction, help=_UNSAFE)
    parser.add_argument(
        "--style", choices=STYLES, help="how to repair: links (.detach().cpu()) or force (.numpy(force=True))"
    )
    parser.add_argument("--diff-base", metavar="REV", help="repair only what `check --diff-base REV` reports")
    parser.add_argument("--fix-baselined", action="store_true", help="repair the findings of the baseline, too")
    _add_output(parser)
    parser.add_argument("--show-fixes", action="store_true", help="list every repair and its place")
    _add_run(parser)


def _add_baseline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("write",), help="write the current findings to the baseline file")
    _add_files(parser)
    _add_selection(parser)
    _add_run(parser)


def _add_rehearse(parser: argparse.ArgumentParser) -> None:
    from tonumpy.rehearsal.rehearsal_options import add_options  # saves start-up

    add_options(parser)
    _add_selection(parser, confidence=False)
    parser.add_argument("--unsafe-fixes", action=argparse.BooleanOptionalAction, help=_UNSAFE_SEEN)
    parser.add_argument("--style", choices=STYLES, help="write .detach().cpu() or .numpy(force=True)")
    _add_output(parser)
    group = _add_configuration(parser)
    group.add_argument("-q", "--quiet", action="store_true", help="print findings and errors only")
    _add_colour(parser)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="CODE", help="a rule's code or name, or habit/NAME")
    _add_colour(parser)


def _add_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--observed", metavar="FILE", help=_OBSERVED)
    parser.add_argument(
        "place", metavar="FILE:ROW[:COLUMN]", help="the place of the conversion; in a notebook FILE:cell N:ROW"
    )
    parser.add_argument("--diff-base", metavar="REV", help=_DIFF_BASE)
    _add_selection(parser)
    _add_configuration(parser)
    _add_colour(parser)


def _add_clean(parser: argparse.ArgumentParser) -> None:
    group = _add_configuration(parser)
    group.add_argument("--cache-dir", metavar="FOLDER", help="the cache folder (default: the user's)")
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")


def _add_server(parser: argparse.ArgumentParser) -> None:
    # What many an editor gives to every server.
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (always on)")


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output-format", choices=("text", "json"), default="text")


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    from tonumpy.sweep.options import add_options  # saves start-up

    add_options(parser)


_COMMANDS = {
    "check": ("report findings", _add_check),
    "fix": ("repair findings in place (with -, standard input to standard output)", _add_fix),
    "sweep": ("report findings of many repositories, each at a commit", _add_sweep),
    "rehearse": ("run your program on a stand-in accelerator; report what would fail there", _add_rehearse),
    "baseline": ("record the current findings; later runs report and repair only new ones", _add_baseline),
    "explain": ("show the page of a rule or habit", _add_explain),
    "rules": ("list all rules", _add_rules),
    "habits": ("list the naming and usage habits that count where nothing is proved", _add_rules),
    "why": ("say why a conversion is reported, or why it is not", _add_why),
    "clean": ("remove the cache", _add_clean),
    "server": ("start the language server for editors", _add_server),
}

_CONFIDENCE = "minimum confidence to report (default: medium)"
_UNSAFE = "also apply unsafe fixes, such as those on values of unknown type"

_DIFF_BASE = "report only findings on lines changed since the branch has left REV (git)"
_OBSERVED = "use this record of `tonumpy rehearse --observations FILE` as evidence"
_UNSAFE_SEEN = "with --fix also repair where the function may give of an array something else than of a tensor"


def _formats() -> str:
    others = [name for name in format_names() if name not in ("full", "concise")]
    return f"full (the default on a terminal), concise (elsewhere), {', '.join(others)}"


# How each shell completes the names of files, in shtab's words.
_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}


def _add_files(parser: argparse.ArgumentParser) -> None:
    paths = parser.add_argument(
        "paths", nargs="*", default=[], metavar="PATH", help="files, folders (default: this one) or - for stdin"
    )
    paths.complete = _FILES  # type: ignore[attr-defined]
    parser.epilog = _EXIT_CODES
    group = parser.add_argument_group("files")
    globs: dict[str, Any] = {"action": "extend", "type": _globs, "metavar": "GLOB"}
    group.add_argument("--exclude", help="skip matching paths (replaces the configured `exclude`)", **globs)
    group.add_argument("--extend-exclude", help="skip these paths too", **globs)
    group.add_argument(
        "--force-exclude", action=argparse.BooleanOptionalAction, help="apply the excludes to paths named here as well"
    )
    group.add_argument("--stdin-filename", metavar="PATH", help="the file name to use for standard input")


def _add_selection(parser: argparse.ArgumentParser, *, confidence: bool = True) -> None:
    group = parser.add_argument_group("rules")
    codes: dict[str, Any] = {"action": "extend", "type": _codes, "metavar": "CODE"}
    only = "check only these codes or prefixes, separated by commas"
    group.add_argument("--select", help=only, **codes | {"type": _some_codes})
    group.add_argument("--extend-select", help="check these codes too", **codes)
    group.add_argument("--ignore", help="skip these codes", **codes)
    if confidence:
        group.add_argument("--confidence", choices=CONFIDENCES, help=_CONFIDENCE)
    group.add_argument("--links", choices=LINKS, help="add both links, or only those not proved needless")
    group.add_argument(
        "--per-file-ignores",
        action="extend",
        type=_file_ignores,
        metavar="GLOB:CODE",
        help="skip these codes in matching files (replaces the configured `per-file-ignores`)",
    )
    group.add_argument(
        "--preview", action=argparse.BooleanOptionalAction, help="also report what new preview rules find"
    )
    group.add_argument(
        "--strict", action=argparse.BooleanOptionalAction, help="require both links on every conversion (TNP300)"
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    group = _add_configuration(parser)
    group.add_argument("--baseline", metavar="FILE", help="leave the findings recorded in FILE alone")
    group.add_argument("--observed", metavar="FILE", help=_OBSERVED)
    group.add_argument(
        "-j", "--jobs", type=_jobs, metavar="N", help="number of processes (default: auto, one per core)"
    )
    group.add_argument("--no-cache", action="store_true", help="do not read or write the cache")
    group.add_argument("--cache-dir", metavar="FOLDER", help="the cache folder (default: the user's)")
    volume = group.add_mutually_exclusive_group()
    volume.add_argument("-q", "--quiet", action="store_true", help="print findings and errors only")
    volume.add_argument("-v", "--verbose", action="store_true", help="print the steps of the run to standard error")
    _add_colour(parser)


def _add_configuration(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("run")
    group.add_argument(
        "--config",
        action="append",
        type=_config,
        metavar="FILE or KEY=VALUE",
        help="use the [tool.tonumpy] table of this TOML file for all files; or set one key of it: style='force'",
    )
    group.add_argument("--isolated", action="store_true", help="ignore all configuration files")
    return group


def _add_colour(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="colours (default: auto)")


class _Version(argparse.Action):
    """argparse's own action wants the version before it is asked for, which takes longer than all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from tonumpy import __version__

        write(f"tonumpy {__version__}\n", sys.stdout)
        parser.exit()


class _Completion(argparse.Action):
    """Prints a shell's completion script, written by shtab, which nothing else needs."""

    def __call__(self, parser: argparse.ArgumentParser, _: object, shell: object, *__: object) -> NoReturn:
        try:
            import shtab
        except ImportError:
            parser.error("--print-completion needs shtab: in a clone of tonumpy, run `pip install '.[completion]'`")
        if shell not in shtab.SUPPORTED_SHELLS:
            parser.error(f"--print-completion: unknown shell `{shell}`; known are {', '.join(shtab.SUPPORTED_SHELLS)}")
        write(shtab.complete(parser, str(shell)) + "\n", sys.stdout)
        parser.exit()


def _explained(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """The reader of a value, whose ValueError argparse shows."""

    def reader(text: str) -> object:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return reader


@_explained
def _codes(text: str) -> tuple[str, ...]:
    return read_codes([code.strip() for code in text.split(",") if code.strip()])


@_explained
def _some_codes(text: str) -> tuple[str, ...]:
    """One code at least: without any, for a variable that is not set, a run would find nothing."""
    codes: tuple[str, ...] = _codes(text)
    if not codes:
        raise ValueError(f"no rule has the code `{text.strip()}`")
    return codes


@_explained
def _globs(text: str) -> tuple[Exclude, ...]:
    return read_globs([glob.strip() for glob in split_at_commas(text) if glob.strip()], os.getcwd())


@_explained
def _file_ignores(text: str) -> tuple[FileIgnores, ...]:
    """`GLOB:CODE,CODE,GLOB:CODE`, which is flake8's way and ruff's."""
    table: dict[str, list[str]] = {}
    glob = ""
    for word in filter(None, map(str.strip, split_at_commas(text))):
        before, colon, code = word.rpartition(":")
        glob = before if colon else glob
        if not glob:
            raise ValueError(f"expected GLOB:CODE, found `{word}`")
        table.setdefault(glob, []).append(code)
    return read_file_ignores(table, os.getcwd())


@_explained
def _jobs(text: str) -> int:
    return read_jobs(int(text) if text.isdecimal() else text)


def _config(text: str) -> str | Choices:
    """The path of a file, or what `KEY = VALUE` says."""
    return read_inline(text) if "=" in text and not os.path.exists(text) else text
