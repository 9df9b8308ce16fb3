"""Parses the arguments of the command; what is wrong there is a ConfigError that names the option."""

from __future__ import annotations

import argparse
import os
import sys

from tonumpy.config import ConfigError, read_codes, read_file_ignores, read_globs, read_jobs
from tonumpy.findings import CONFIDENCES, STYLES
from tonumpy.frontends.streams import write
from tonumpy.globs import split_at_commas
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.report import format_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from tonumpy.config import FileIgnores
    from tonumpy.globs import Exclude

_EXIT_CODES = """\
exit codes:
  0  nothing found, or everything found was fixed
  1  findings are left
  2  a file could not be read, parsed or written, or the command or a configuration file is wrong"""

# Python has no translations of argparse's words. To find none, gettext imports locale and looks for files at each word:
# 0.6 ms of 29 at start-up.
vars(argparse)["_"] = str


class _WhileBuilt(argparse.RawDescriptionHelpFormatter):
    """argparse makes one to check each option that it is given. One without a width imports shutil for it, and one that
    may be coloured imports dataclasses (Python 3.14)."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=80)

    def _set_color(self, color: bool) -> None:
        """Nothing that it makes is shown."""


class _Parser(argparse.ArgumentParser):
    """What is wrong is one line, without the usage of a command that has dozens of options."""

    def error(self, message: str) -> NoReturn:
        if "are required" in message:
            message = f"{message}; `{self.prog} --help` shows how"
        raise ConfigError(message.removeprefix("argument "))

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            from tonumpy.suggestions import either  # only where something is wrong: start-up

            choices = [str(each) for each in action.choices]
            raise argparse.ArgumentError(action, f"expected {either(choices)}, found `{value}`")


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """`command` names the command. An option that was not given is None or False, so that a file may decide."""
    parser = _Parser(
        prog="tonumpy",
        description="Find and repair conversions of PyTorch tensors to NumPy that can raise or give wrong data.",
        epilog=_EXIT_CODES,
        formatter_class=_WhileBuilt,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    completion = "write what bash, zsh or fish completes with"
    parser.add_argument("--print-completion", action=_Completion, metavar="SHELL", help=completion)
    # Left to find out `prog` by itself, argparse formats a usage message at every start.
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog="tonumpy", dest="command")
    # The other commands and their options would only cost time.
    wanted = argv[:1] if argv and argv[0] in _COMMANDS else _COMMANDS
    for name in wanted:
        summary, add_options = _COMMANDS[name]
        described = f"{summary.capitalize()}."
        command = commands.add_parser(name, help=summary, description=described, formatter_class=_WhileBuilt)
        if name in argv or "--print-completion" in argv:
            add_options(command)
    for each in (parser, *commands.choices.values()):
        each.formatter_class = argparse.RawDescriptionHelpFormatter
    if argv and not argv[0].startswith("-") and argv[0] not in _COMMANDS:
        raise ConfigError(_unknown_command(argv[0]))
    own, rest = _split_sweep(argv)
    arguments, unknown = parser.parse_known_args(own)
    if arguments.command == "sweep":
        arguments.check_options = rest
    if arguments.command is None:
        parser.print_help()
        parser.exit(2)
    if unknown:
        raise ConfigError(_unknown_option(arguments.command, unknown[0].partition("=")[0]))
    return arguments


def _split_sweep(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What stands behind `--` in `tonumpy sweep` are options of another command."""
    if argv[:1] != ["sweep"] or "--" not in argv:
        return argv, ()
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


# What the commands of other tools are here.
_OF_OTHER_TOOLS = {
    "lint": "check",
    "format": "fix",
    "rule": "explain",
    "linter": "rules",
    "config": "check --show-settings",
}


def _unknown_command(word: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, _COMMANDS, n=1)
    meant = _OF_OTHER_TOOLS.get(word) or (close[0] if close else "")
    if not meant and os.path.exists(word):
        meant = f"check {word}"
    rest = f"did you mean `tonumpy {meant}`?" if meant else f"there are {', '.join(f'`{each}`' for each in _COMMANDS)}"
    return f"there is no command `{word}`; {rest}"


def _unknown_option(command: str, word: str) -> str:
    from difflib import get_close_matches

    if word in ("--fix", "--fix-only"):
        return f"`tonumpy {command}` has no option `{word}`; it is `tonumpy fix` that repairs"
    ours = _options_of(command)
    for other in _COMMANDS:
        if word in _options_of(other) and word.startswith("--"):
            return f"`tonumpy {command}` has no option `{word}`, but `tonumpy {other} {word}` has"
    close = get_close_matches(word, ours, n=1) if word.startswith("--") else []
    meant = f"did you mean `{close[0]}`?" if close else f"`tonumpy {command} --help` lists them"
    return f"`tonumpy {command}` has no option `{word}`; {meant}"


def _options_of(command: str) -> list[str]:
    parser = argparse.ArgumentParser()
    _COMMANDS[command][1](parser)
    return [option for action in parser._actions for option in action.option_strings]


def _add_check(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selection(parser)
    _add_output(parser)
    parser.add_argument("--show-evidence", action="store_true", help="show under each finding what it rests on")
    parser.add_argument("--statistics", action="store_true", help="show only how many findings each code has")
    parser.add_argument("-e", "--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    parser.add_argument("--add-noqa", action="store_true", help="write a `# noqa` comment beside every finding")
    parser.add_argument("--show-files", action="store_true", help="list the files that would be checked, and end")
    parser.add_argument("--show-settings", action="store_true", help="show the settings of each file, and end")
    _add_run(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output-format", type=_format, metavar="FORMAT", help=_formats())
    parser.add_argument("-o", "--output-file", metavar="FILE", help="write the report there, not to standard output")


def _add_fix(parser: argparse.ArgumentParser) -> None:
    _add_files(parser)
    _add_selection(parser)
    parser.add_argument(
        "--diff", action="store_true", help="write nothing, show what would change; exit with 1 if anything"
    )
    parser.add_argument("--unsafe-fixes", action=argparse.BooleanOptionalAction, help=_UNSAFE)
    parser.add_argument("--style", choices=STYLES, help="write .detach().cpu() or .numpy(force=True)")
    _add_output(parser)
    parser.add_argument("--show-fixes", action="store_true", help="list what was repaired, and where")
    _add_run(parser)


def _add_baseline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("write",), help="write the findings that there are to the baseline")
    _add_files(parser)
    _add_selection(parser)
    _add_run(parser)


def _add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="CODE", help="a rule's code or name, or habit/NAME")
    _add_colour(parser)


def _add_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", metavar="FILE:ROW[:COLUMN]", help="where it stands; in a notebook FILE:cell N:ROW")
    _add_selection(parser)
    _add_configuration(parser)
    _add_colour(parser)


def _add_clean(parser: argparse.ArgumentParser) -> None:
    group = _add_configuration(parser)
    group.add_argument("--cache-dir", metavar="FOLDER", help="the folder that is removed (default: .tonumpy_cache)")
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")


def _add_server(parser: argparse.ArgumentParser) -> None:
    # What many an editor gives to every server.
    parser.add_argument("--stdio", action="store_true", help="talk on standard input and output, as it always does")


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output-format", choices=("text", "json"), default="text")


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    from tonumpy.sweep.options import add_options  # saves start-up

    add_options(parser)


_COMMANDS = {
    "check": ("report findings", _add_check),
    "fix": ("repair findings in place; from standard input (-) to standard output", _add_fix),
    "sweep": ("report the findings of many repositories, read at commits", _add_sweep),
    "baseline": ("write the findings that are left out of the reports from now on", _add_baseline),
    "explain": ("show the page of a rule", _add_explain),
    "rules": ("list all rules", _add_rules),
    "habits": ("list the habits of the field that are believed where nothing is proved", _add_rules),
    "why": ("say of one conversion, reported or not, what is known of it and what that rests on", _add_why),
    "clean": ("remove what was kept of former runs", _add_clean),
    "server": ("answer an editor by the Language Server Protocol", _add_server),
}

_CONFIDENCE = "report only what is as sure as this: high, medium (the default) or low, which is all there is"
_UNSAFE = "also repair where nothing is known of the value but that torch is the only array framework in the file"


def _formats() -> str:
    others = [name for name in format_names() if name not in ("full", "concise")]
    return f"full (the default on a terminal), concise (elsewhere), {', '.join(others)}"


# How each shell completes the names of files, in shtab's words.
_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}


def _add_files(parser: argparse.ArgumentParser) -> None:
    paths = parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files, folders (default: this one) or - for stdin"
    )
    paths.complete = _FILES  # type: ignore[attr-defined]
    parser.epilog = _EXIT_CODES
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
    group.add_argument("--extend-select", help="these, too", **codes)
    group.add_argument("--ignore", help="all but these", **codes)
    group.add_argument("--confidence", choices=CONFIDENCES, help=_CONFIDENCE)
    group.add_argument(
        "--per-file-ignores",
        action="extend",
        type=_file_ignores,
        metavar="GLOB:CODE",
        help="all but these codes in the files that match, in place of the configured `per-file-ignores`",
    )
    group.add_argument("--strict", action=argparse.BooleanOptionalAction, help="ask for both links always (TNP300)")


def _add_run(parser: argparse.ArgumentParser) -> None:
    group = _add_configuration(parser)
    group.add_argument("--baseline", metavar="FILE", help="leave out the findings that this file has")
    group.add_argument(
        "-j", "--jobs", type=_jobs, metavar="N", help="how many processes (default: auto, one for each core)"
    )
    group.add_argument("--no-cache", action="store_true", help="neither use nor keep what former runs have found")
    group.add_argument("--cache-dir", metavar="FOLDER", help="where that is kept (default: .tonumpy_cache)")
    volume = group.add_mutually_exclusive_group()
    volume.add_argument("-q", "--quiet", action="store_true", help="print findings and errors only")
    volume.add_argument("-v", "--verbose", action="store_true", help="say on standard error what is done")
    _add_colour(parser)


def _add_configuration(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("run")
    group.add_argument(
        "--config", metavar="FILE", help="a TOML file with the [tool.tonumpy] table to use for all files"
    )
    group.add_argument("--isolated", action="store_true", help="read no configuration file")
    return group


def _add_colour(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="colours (default: auto)")


class _Version(argparse.Action):
    """argparse's own action wants the version before it is asked for, which takes longer than all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.util import find_spec

        from tonumpy import __version__

        module = find_spec("tonumpy.text.syntax")
        is_native = module is not None and not (module.origin or "").endswith(".py")
        write(f"tonumpy {__version__}{' (native)' if is_native else ''}\n", sys.stdout)
        parser.exit()


class _Completion(argparse.Action):
    """What a shell runs to complete the command's arguments, written by shtab, which nothing else needs."""

    def __call__(self, parser: argparse.ArgumentParser, _: object, shell: object, *__: object) -> NoReturn:
        try:
            import shtab
        except ImportError:
            parser.error("--print-completion needs shtab: pip install 'tonumpy[completion]'")
        if shell not in shtab.SUPPORTED_SHELLS:
            parser.error(f"--print-completion: there is no `{shell}`, but {', '.join(shtab.SUPPORTED_SHELLS)}")
        write(shtab.complete(parser, str(shell)) + "\n", sys.stdout)
        parser.exit()


def _codes(text: str) -> tuple[str, ...]:
    try:
        return read_codes([code.strip() for code in text.split(",") if code.strip()])
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _globs(text: str) -> tuple[Exclude, ...]:
    try:
        return read_globs([glob.strip() for glob in split_at_commas(text) if glob.strip()], os.getcwd())
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _file_ignores(text: str) -> tuple[FileIgnores, ...]:
    """`GLOB:CODE,CODE,GLOB:CODE`, which is flake8's way and ruff's."""
    table: dict[str, list[str]] = {}
    glob = ""
    for word in filter(None, map(str.strip, split_at_commas(text))):
        before, colon, code = word.rpartition(":")
        glob = before if colon else glob
        if not glob:
            raise argparse.ArgumentTypeError(f"expected GLOB:CODE, found `{word}`")
        table.setdefault(glob, []).append(code)
    try:
        return read_file_ignores(table, os.getcwd())
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _jobs(text: str) -> int:
    try:
        return read_jobs(int(text) if text.isdecimal() else text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _format(text: str) -> str:
    if text not in format_names():
        raise argparse.ArgumentTypeError(f"there is no format `{text}`, but {', '.join(format_names())}")
    return text


def read_place(text: str) -> tuple[str, int, int | None]:
    """The file, the row and perhaps the column of FILE:ROW[:COLUMN]; a file's own name may hold colons."""
    rest, _, last = text.rpartition(":")
    before, _, middle = rest.rpartition(":")
    if before and last.isdecimal() and middle.isdecimal():
        return before, int(middle), int(last)
    if rest and last.isdecimal():
        return rest, int(last), None
    raise ConfigError(f"`{text}`: expected FILE:ROW or FILE:ROW:COLUMN")


def read_cell(text: str) -> tuple[str, int | None]:
    """The file and the cell of FILE:cell NUMBER, as they are reported."""
    filename, _, last = text.rpartition(":cell ")
    return (filename, int(last)) if filename and last.isdecimal() else (text, None)
