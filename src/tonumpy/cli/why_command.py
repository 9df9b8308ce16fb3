"""`tonumpy why FILE:ROW`: prints each conversion of a line with its facts, and what silences its findings."""

import argparse
import sys
from contextlib import nullcontext

from tonumpy.cli import standard_streams
from tonumpy.cli.cli_arguments import configuration_of
from tonumpy.cli.diff_base import DiffBase, diff_base
from tonumpy.cli.disk import read
from tonumpy.cli.silences import Silences, without_silences
from tonumpy.config import ConfigError, Configuration
from tonumpy.engine.names.project import Project
from tonumpy.findings import SourceError
from tonumpy.report.parts.evidence_lines import explanation
from tonumpy.text.sources import source_of
from tonumpy.why import explain, nearest_conversions


def why(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code: 0, or 2 if the file cannot be read."""
    with nullcontext() if arguments.diff_base is None else diff_base(arguments.diff_base) as base:
        return 0 if _why(arguments, configuration_of(arguments), base) else 2


def _why(arguments: argparse.Namespace, configuration: Configuration, base: DiffBase | None) -> bool:
    """Print the explanations; False, after an error message, if the file cannot be read or parsed; ConfigError if the
    line has no conversion."""
    filename, row, column = _read_place(arguments.place)
    filename, cell = _read_cell(filename)
    settings = without_silences(configuration.settings_of(filename))
    try:
        data = read(filename)
        source = source_of(data, filename)
        asked = source.row_of(cell, row)
        explained = explain(source, settings, Project(), asked)
        found = list(map(source.explained, Silences(data, source, configuration, Project(), base).told(explained)))
        nearest = "" if found else nearest_conversions(source, settings, Project(), asked)
        standard_streams.write_errors(source.skipped)
    except ValueError as error:
        raise ConfigError(f"{arguments.place}: {error}") from error
    except SourceError as error:
        standard_streams.write_errors([error])
        return False
    if column is not None:
        found = [each for each in found if each.start.column == column] or found
    if not found:
        raise ConfigError(f"{arguments.place}: no conversion on this line{nearest}")
    colour = standard_streams.has_colour(sys.stdout, arguments)
    standard_streams.write("\n".join(explanation(filename, each, colour=colour) for each in found), sys.stdout)
    return True


def _read_place(text: str) -> tuple[str, int, int | None]:
    """Parse FILE:ROW[:COLUMN]; the name of the file may contain colons."""
    rest, _, last = text.rpartition(":")
    before, _, middle = rest.rpartition(":")
    if before and last.isdecimal() and middle.isdecimal():
        return before, int(middle), int(last)
    if rest and last.isdecimal():
        return rest, int(last), None
    raise ConfigError(f"`{text}`: expected FILE:ROW or FILE:ROW:COLUMN")


def _read_cell(text: str) -> tuple[str, int | None]:
    """Split FILE:cell NUMBER, as reports name cells, into file and cell; the cell is None if there is none."""
    filename, _, last = text.rpartition(":cell ")
    return (filename, int(last)) if filename and last.isdecimal() else (text, None)
