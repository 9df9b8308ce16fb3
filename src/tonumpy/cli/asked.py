"""Makes the configuration of a run from its parsed arguments (cli_arguments.py), which stand over pyproject.toml."""

import argparse
from functools import reduce

from tonumpy.config import Choices, ConfigError, Configuration, overlay
from tonumpy.setting_values import CHOSEN


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
