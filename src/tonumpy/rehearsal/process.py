"""Runs a program in a process of its own and reads what that, and those that it started, have written."""

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
_ROOT = os.path.dirname(os.path.dirname(_HERE))  # where the package can be imported from


class CannotRunError(Exception):
    """The program could not be started; the text says why."""


class Ended(NamedTuple):
    """The events of a run, and how the program ended, in words and with which exit code (below 0: the signal)."""

    run: Run
    how: str
    code: int


def run_program(words: Sequence[str], device: str, *, stop: bool, devices: int, output: TextIO) -> Ended:
    """`words` are SCRIPT ARG..., or -m MODULE ARG...; what the program prints goes to `output`.

    Ctrl-C ends the program, which hears of it as well as we do, and not the report.
    """
    with tempfile.TemporaryDirectory(prefix="tonumpy-rehearsal-", ignore_cleanup_errors=True) as folder:
        given, words = _parted(words)
        order = Order(folder, device, stop, devices).as_text()
        # The interpreter's own options, as -W error, hold for the program, too.
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
    """The options of Python, and the program, where the words begin with the name of Python; CannotRunError where that
    is another Python than ours."""
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
    """Signals that would end us are the program's; that of Ctrl-C the terminal has given it already."""
    with ExitStack() as before:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                handler = signal.SIG_IGN if name == "SIGINT" else lambda number, _: process.send_signal(number)
                before.callback(signal.signal, number, signal.signal(number, handler))
        yield
