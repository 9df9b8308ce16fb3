"""Runs a program in a child process and reads the events that it and its own children have written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, TextIO

from tonumpy.rehearsal.following import Order
from tonumpy.rehearsal.program import NOT_STARTED, NOT_STARTED_MARK
from tonumpy.rehearsal.spool import Run, read_run

_HERE = os.path.dirname(os.path.abspath(__file__))
_PYTHON = re.compile(r"python[\d.]*(?:\.exe)?")
_ROOT = os.path.dirname(os.path.dirname(_HERE))  # from where the package can be imported


class CannotRunError(Exception):
    """The program could not be started; the text says why."""


class Ended(NamedTuple):
    """The events of a run, how the program ended, in words, and its exit code (below 0: the signal)."""

    run: Run
    how: str
    code: int


def run_program(words: Sequence[str], device: str, *, stop: bool, devices: int, output: TextIO) -> Ended:
    """Rehearse the program `words`: SCRIPT ARG..., or -m MODULE ARG...; its standard output goes to `output`.

    Ctrl-C reaches both processes: it ends the program, but the report is still made.
    """
    with tempfile.TemporaryDirectory(prefix="tonumpy-rehearsal-", ignore_cleanup_errors=True) as folder:
        given, words = _parted(words)
        order = Order(folder, device, stop, devices).as_text()
        # Pass on the interpreter's own options, such as `-W error`.
        options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        command = [sys.executable, *options, *given, os.path.join(_HERE, "program.py"), _ROOT, order, *words]
        with subprocess.Popen(command, stdout=output) as process, _passed_on(process):
            code = process.wait()
        mark = os.path.join(folder, NOT_STARTED_MARK)
        if code == NOT_STARTED and os.path.exists(mark):
            with open(mark, encoding="utf-8") as stream:
                raise CannotRunError(stream.read())
        run = read_run(folder)
        ended = f"ended with {run.ended or f'exit code {code}'}"
        return Ended(run, ended if code >= 0 else f"was ended by {signal.Signals(-code).name}", code)


def _parted(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Split words that begin with `python` into Python's options and the program; CannotRunError if that is another
    Python than this one."""
    if not words or not _PYTHON.fullmatch(os.path.basename(words[0])) or len(words) == 1:
        return (), words
    if os.path.basename(words[0]) != words[0] and os.path.realpath(words[0]) != os.path.realpath(sys.executable):
        raise CannotRunError(f"{words[0]}: a rehearsal runs in the Python that has tonumpy, {sys.executable}")
    at = 1
    while at < len(words) and words[at].startswith("-") and not words[at].startswith("-m"):
        if words[at] == "-" or words[at].startswith("-c"):
            raise CannotRunError(f"{words[0]} {words[at]}: a rehearsal needs a program in a file, or a module")
        at += 2 if words[at] in ("-W", "-X") else 1
    return words[1:at], words[at:]


@contextmanager
def _passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Forward SIGTERM and SIGHUP to the program meanwhile, and ignore SIGINT, which the terminal sends it as well."""
    with ExitStack() as before:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                handler = signal.SIG_IGN if name == "SIGINT" else lambda number, _: process.send_signal(number)
                before.callback(signal.signal, number, signal.signal(number, handler))
        yield
