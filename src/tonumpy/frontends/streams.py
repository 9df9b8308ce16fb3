"""Writes to the standard streams and reads standard input; a stream that is closed or full is a StreamError."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


class StreamError(Exception):
    """What is printed cannot be; the text says why."""


def prepare() -> None:
    """StreamError where there is no standard output; without a place for errors nobody hears of them.

    A descriptor that is closed would be that of the next file that is opened, and what is meant for the stream would
    go there.
    """
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _fill_descriptors()
        if sys.stderr is None:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        if sys.stdout is None:
            raise StreamError("standard output is closed")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a file name or a message may hold what the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")


def _fill_descriptors() -> None:
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest that is free


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


def write_bytes(data: bytes) -> None:
    with _guarded(sys.stdout):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def flush() -> None:
    """What others have printed (argparse, for one), before Python does it when nothing can be said of it any more.

    pygls closes standard output when an editor says goodbye.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            with _guarded(stream):
                stream.flush()


@contextmanager
def _guarded(stream: TextIO) -> Iterator[None]:
    """A reader that has read enough (`| head`) is no reason to stop, nor to end with another exit code."""
    try:
        yield
    except BrokenPipeError:
        _give_up(stream)
    except OSError as error:
        _give_up(stream)
        if stream is not sys.stderr:
            raise StreamError(f"standard output: {error.strerror}") from error


def _give_up(stream: TextIO) -> None:
    """What is still in the buffer would else be tried again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
