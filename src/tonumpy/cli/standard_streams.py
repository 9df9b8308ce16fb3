"""Writes text and reports to the standard streams, and reads standard input; StreamError if a stream is closed or
full."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tonumpy.cli.disk import write_text
from tonumpy.report import format_named
from tonumpy.text.visible import visible_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator
    from typing import TextIO

    from tonumpy.cli.disk import Change
    from tonumpy.config import Configuration
    from tonumpy.findings import SourceError
    from tonumpy.report import Format, Report


class StreamError(Exception):
    """Output cannot be printed; the text says why."""


def prepare() -> None:
    """Set up the streams; StreamError if there is no standard output. Without standard error, errors are dropped."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        raise StreamError("standard output is closed")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file name or a message may hold what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")


def read_stdin() -> bytes:
    if sys.stdin is None:
        raise StreamError("standard input is closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise StreamError(f"standard input: {error.strerror}") from error


def write(text: str, stream: TextIO) -> None:
    if text:
        with _guarded(stream):
            stream.write(text)
            stream.flush()


def print_bytes(data: bytes) -> None:
    with _guarded(sys.stdout):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def flush() -> None:
    """Flush what others (argparse) have printed: at exit, when Python does it, an error could not be reported.

    The streams may be closed: pygls closes standard output when an editor says goodbye.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            with _guarded(stream):
                stream.flush()


@contextmanager
def _guarded(stream: TextIO) -> Iterator[None]:
    """Context manager for writing: a closed pipe (`| head`) neither stops the run nor changes its exit code."""
    try:
        yield
    except BrokenPipeError:
        _give_up(stream)
    except OSError as error:
        _give_up(stream)
        if stream is not sys.stderr:
            raise StreamError(f"standard output: {error.strerror}") from error


def _give_up(stream: TextIO) -> None:
    """Redirect the stream to nowhere: Python would try to write its buffer again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def format_of(arguments: argparse.Namespace, stream: TextIO, configuration: Configuration) -> tuple[str, Format]:
    """The name and the format asked for, or else `full` on a terminal and `concise` elsewhere."""
    watched = arguments.output_file is None and stream.isatty()
    name = configuration.settings_in("").output_format or ("full" if watched else "concise")
    return name, format_named(name)


def is_for_people(form: Format) -> bool:
    return bool(getattr(form, "FOR_PEOPLE", False))


def publish(render: Callable[..., str], report: Report, stream: TextIO, arguments: argparse.Namespace) -> None:
    """Write a report to a stream, or to the file that `--output-file` names."""
    if arguments.output_file is None:
        write(render(report, colour=has_colour(stream, arguments)), stream)
        return
    write_text(arguments.output_file, render(report, colour=arguments.color == "always"), kind="report")


def write_errors(errors: Iterable[SourceError]) -> None:
    write("".join(f"{visible_path(f'{error.place}: error: {error.reason}')}\n" for error in errors), sys.stderr)


def write_diff(changes: Iterable[tuple[str, Change]], *, colour: bool) -> None:
    from tonumpy.repair.diff import unified_diff  # only here: start-up
    from tonumpy.report.parts.terminal import coloured_diff  # only here: start-up

    for filename, change in changes:
        patch = unified_diff(filename, change.old, change.new)
        print_bytes(b"".join(coloured_diff(patch) if colour else patch))


def has_colour(stream: TextIO, arguments: argparse.Namespace) -> bool:
    if arguments.color != "auto":
        return bool(arguments.color == "always")
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")
