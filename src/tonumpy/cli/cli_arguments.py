"""Parses the arguments of the command, and makes the configuration of a run, in which they override pyproject.toml.

An invalid option raises a ConfigError that names it.
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
    """Reports an error in one line, without the usage: the command has dozens of options."""

    def error(self, message: str) -> NoReturn:
        if message == "unrecognized arguments: --fix":  # as other linters have it
            message = f"{message}; use `tonumpy fix`"
        raise ConfigError(f"{message.removeprefix('argument ')} (see `{self.prog} --help`)")


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; `command` is the command's name. An option not given is None or False: a file may set it."""
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
    """The configuration of a run, read once."""
    if "configuration" not in arguments:
        said = reduce(overlay, (*arguments.said, _choices(arguments)))
        arguments.configuration = Configuration(said, arguments.config, arguments.isolated)
    found: Configuration = arguments.configuration
    return found


def _choices(arguments: argparse.Namespace) -> Choices:
    """The settings chosen on the command line; not every command has every option."""
    given = {name: value for name, value in vars(arguments).items() if name in CHOSEN and value is not None}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def reads_stdin(arguments: argparse.Namespace) -> bool:
    if "-" in arguments.paths and len(arguments.paths) > 1:
        raise ConfigError("`-` (standard input) cannot be combined with other paths")
    if arguments.stdin_filename is not None and arguments.paths not in ([], ["-"]):
        raise ConfigError("--stdin-filename needs standard input (`-`) as the only path")
    return arguments.paths == ["-"] or arguments.stdin_filename is not None


def _parser(argv: Sequence[str]) -> tuple[_Parser, Mapping[str, _Parser]]:
    """The parser, and that of each command; if `argv` names a command, of that one only."""
    parser = _Parser(
        prog="tonumpy",
        description="Find and repair conversions of PyTorch tensors to NumPy that can raise or give wrong data.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    completion = "print the completion script of a shell: bash, zsh, fish, ..."
    parser.add_argument("--print-completion", action=_Completion, metavar="SHELL", help=completion)
    # Without `prog`, argparse would format a usage message at every start.
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog="tonumpy", dest="command")
    # Adding the other commands and their options would only cost time.
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
    """Split off the words after `--`: options of `check` in `tonumpy sweep`, a program in `tonumpy rehearse`, where
    the `--` is optional."""
    if argv[:1] == ["rehearse"]:
        from tonumpy.rehearsal.rehearsal_options import program_at  # saves start-up

        at = program_at(argv, parsers["rehearse"])
    else:
        at = argv.index("--") if argv[:1] == ["sweep"] and "--" in argv else len(argv)
    return argv[:at], argv[at + 1 :] if argv[at : at + 1] == ["--"] else argv[at:]


class _Version(argparse.Action):
    """Prints the version; argparse's own action reads it at every start, which takes longer than all else."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from tonumpy import __version__

        write(f"tonumpy {__version__}\n", sys.stdout)
        parser.exit()


class _Completion(argparse.Action):
    """Prints a shell's completion script, made by shtab."""

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
    """Wrap a reader of a value so that argparse shows the text of its ValueError."""

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
    """Parse codes, at least one: with none, from an unset shell variable, a run would find nothing."""
    codes: tuple[str, ...] = _codes(text)
    if not codes:
        raise ValueError(f"no rule has the code `{text.strip()}`")
    return codes


@_explained
def _globs(text: str) -> tuple[Exclude, ...]:
    return read_globs([glob.strip() for glob in split_at_commas(text) if glob.strip()], os.getcwd())


@_explained
def _file_ignores(text: str) -> tuple[FileIgnores, ...]:
    """Parse `GLOB:CODE,CODE,GLOB:CODE`, as flake8 and ruff do."""
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
    """The path of a configuration file, or the setting in an inline `KEY = VALUE`."""
    return read_inline(text) if "=" in text and not os.path.exists(text) else text


_Option = tuple[str, dict[str, Any], str | None]  # its names, the arguments for argparse, and its help

_SWITCH: dict[str, Any] = {"action": "store_true"}
_EITHER: dict[str, Any] = {"action": argparse.BooleanOptionalAction}  # `--strict` and `--no-strict`
_GLOBS: dict[str, Any] = {"action": "extend", "type": _globs, "metavar": "GLOB"}
_CODES: dict[str, Any] = {"action": "extend", "type": _codes, "metavar": "CODE"}
_FILE: dict[str, Any] = {"metavar": "FILE"}
_IGNORES: dict[str, Any] = {"action": "extend", "type": _file_ignores, "metavar": "GLOB:CODE"}
_CONFIG: dict[str, Any] = {"action": "append", "type": _config, "metavar": "FILE or KEY=VALUE"}

_FORMATS = ", ".join(name for name in format_names() if name not in ("full", "concise"))
_OUTPUT: tuple[_Option, ...] = (
    (
        "--output-format",
        {"type": _explained(read_format), "metavar": "FORMAT"},
        f"full (the default on a terminal), concise (elsewhere), {_FORMATS}",
    ),
    ("-o --output-file", _FILE, "write the report to FILE, not to standard output"),
)
_FILES: tuple[_Option, ...] = (
    ("--exclude", _GLOBS, "skip matching paths (replaces the configured `exclude`)"),
    ("--extend-exclude", _GLOBS, "skip these paths too"),
    ("--force-exclude", _EITHER, "apply the excludes to paths named here as well"),
    ("--stdin-filename", {"metavar": "PATH"}, "the file name to use for standard input"),
)
_SELECTION: tuple[_Option, ...] = (
    ("--select", _CODES | {"type": _some_codes}, "check only these codes or prefixes, separated by commas"),
    ("--extend-select", _CODES, "check these codes too"),
    ("--ignore", _CODES, "skip these codes"),
    ("--confidence", {"choices": CONFIDENCES}, "minimum confidence to report (default: medium)"),
    ("--links", {"choices": LINKS}, "add both links, or only those not proved needless"),
    ("--per-file-ignores", _IGNORES, "skip these codes in matching files (replaces the configured `per-file-ignores`)"),
    ("--preview", _EITHER, "also report what new preview rules find"),
    ("--strict", _EITHER, "require both links on every conversion (TNP300)"),
)
_DIFF_BASE: _Option = (
    "--diff-base",
    {"metavar": "REV"},
    "report only findings on lines changed since the branch has left REV (git)",
)
_CHECK: tuple[_Option, ...] = (
    ("--show-evidence", _SWITCH, "show the evidence for each finding"),
    ("--statistics", _SWITCH, "show only the number of findings per code"),
    ("-e --exit-zero", _SWITCH, "exit with 0 even if there are findings"),
    ("--watch", _SWITCH, "check again whenever a file changes"),
    _DIFF_BASE,
    ("--add-noqa", _SWITCH, "add a `# noqa` comment to every finding"),
    ("--show-files", _SWITCH, "list the files to check, and exit"),
    ("--show-settings", _SWITCH, "show the settings of each file, and exit"),
)
_FIX: tuple[_Option, ...] = (
    ("--diff", _SWITCH, "show the changes as a diff and write nothing; exit with 1 if there are any"),
    ("--unsafe-fixes", _EITHER, "also apply unsafe fixes, such as those on values of unknown type"),
    ("--style", {"choices": STYLES}, "how to repair: links (.detach().cpu()) or force (.numpy(force=True))"),
    ("--diff-base", {"metavar": "REV"}, "repair only what `check --diff-base REV` reports"),
    ("--fix-baselined", _SWITCH, "repair the findings of the baseline, too"),
)
_OBSERVED: _Option = ("--observed", _FILE, "use this record of `tonumpy rehearse --observations FILE` as evidence")
_CACHE: _Option = ("--cache-dir", {"metavar": "FOLDER"}, "the cache folder (default: the user's)")
_RUN: tuple[_Option, ...] = (
    ("--baseline", _FILE, "leave the findings recorded in FILE alone"),
    _OBSERVED,
    ("-j --jobs", {"type": _jobs, "metavar": "N"}, "number of processes (default: auto, one per core)"),
    ("--no-cache", _SWITCH, "do not read or write the cache"),
    _CACHE,
)
_QUIET: _Option = ("-q --quiet", _SWITCH, "print findings and errors only")
_COLOUR: _Option = ("--color", {"choices": ("auto", "always", "never"), "default": "auto"}, "colours (default: auto)")
# How each shell completes the names of files, in shtab's words.
_SHELLS = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
_UNSAFE_SEEN = "with --fix also repair where the function may give of an array something else than of a tensor"


def _add(parser: argparse._ActionsContainer, *options: _Option) -> None:
    for names, kind, told in options:
        parser.add_argument(*names.split(), help=told, **kind)


def _add_check(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add(parser, *_OUTPUT, *_CHECK)
    _add_run(parser)


def _add_fix(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add(parser, *_FIX, *_OUTPUT, ("--show-fixes", _SWITCH, "list every repair and its place"))
    _add_run(parser)


def _add_baseline(parser: argparse.ArgumentParser) -> None:
    _add(parser, ("action", {"choices": ("write",)}, "write the current findings to the baseline file"))
    _add_files(parser)
    _add_run(parser)


def _add_files(parser: argparse.ArgumentParser) -> None:
    paths = parser.add_argument(
        "paths", nargs="*", default=[], metavar="PATH", help="files, folders (default: this one) or - for stdin"
    )
    paths.complete = _SHELLS  # type: ignore[attr-defined]
    parser.epilog = _EXIT_CODES
    _add(parser.add_argument_group("files"), *_FILES)
    _add(parser.add_argument_group("rules"), *_SELECTION)


def _add_run(parser: argparse.ArgumentParser) -> None:
    group = _add_configuration(parser)
    _add(group, *_RUN)
    volume = group.add_mutually_exclusive_group()
    _add(volume, _QUIET, ("-v --verbose", _SWITCH, "print the steps of the run to standard error"))
    _add(parser, _COLOUR)


def _add_configuration(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("run")
    told = "use the [tool.tonumpy] table of this TOML file for all files; or set one key of it: style='force'"
    _add(group, ("--config", _CONFIG, told), ("--isolated", _SWITCH, "ignore all configuration files"))
    return group


def _add_rehearse(parser: argparse.ArgumentParser) -> None:
    from tonumpy.rehearsal.rehearsal_options import add_options  # saves start-up

    add_options(parser)
    _add(parser.add_argument_group("rules"), *(each for each in _SELECTION if each[0] != "--confidence"))
    _add(parser, ("--unsafe-fixes", _EITHER, _UNSAFE_SEEN))
    _add(parser, ("--style", {"choices": STYLES}, "write .detach().cpu() or .numpy(force=True)"), *_OUTPUT)
    _add(_add_configuration(parser), _QUIET)
    _add(parser, _COLOUR)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    _add(parser, ("rule", {"metavar": "CODE"}, "a rule's code or name, or habit/NAME"), _COLOUR)


def _add_why(parser: argparse.ArgumentParser) -> None:
    told = "the place of the conversion; in a notebook FILE:cell N:ROW"
    _add(parser, _OBSERVED, ("place", {"metavar": "FILE:ROW[:COLUMN]"}, told), _DIFF_BASE)
    _add(parser.add_argument_group("rules"), *_SELECTION)
    _add_configuration(parser)
    _add(parser, _COLOUR)


def _add_clean(parser: argparse.ArgumentParser) -> None:
    _add(_add_configuration(parser), _CACHE, ("-q --quiet", _SWITCH, "print errors only"))


def _add_server(parser: argparse.ArgumentParser) -> None:
    # Many editors pass this to every server.
    _add(parser, ("--stdio", _SWITCH, "use standard input and output (always on)"))


def _add_rules(parser: argparse.ArgumentParser) -> None:
    _add(parser, ("--output-format", {"choices": ("text", "json"), "default": "text"}, None))


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
