"""Runs programs and executable fixtures on the stand-in or on the test device: where, and with what, each ends.

    python standin_beside.py standin|toy PROGRAM...

Without programs the fixtures run. It prints what came of each, as JSON: the row in the program or fixture that raised,
the type and the message, with DEVICE for the device's name, or nothing.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import sys
import tempfile
import traceback
import warnings
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from accelerator import NoToolchainError, register
from runtime_fixtures import MODES, find_fixtures
from runtime_matrix import _names

from tonumpy.rehearsal.standin import pretend

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime_fixtures import Fixture, Kind

    Outcome = list[object]  # row, type and message of an error; nothing where there is none

SECONDS = 120
NAMES = {"standin": "cuda", "toy": "toy"}


def main() -> None:
    which, *programs = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if which == "toy":
        try:
            register()
        except NoToolchainError as error:
            sys.exit(f"no toolchain: {error}")
    found = {program: apart(lambda program=program: run_program(program, which)) for program in programs}  # type: ignore[misc]
    if not programs:
        found = apart(lambda: run_fixtures(which))
    json.dump(found, sys.stdout)


def apart(function: Callable[[], object]) -> object:
    """What a function gives in a process of its own: autograd counts the devices of a process once."""
    with tempfile.TemporaryFile() as stream:
        child = os.fork()
        if child == 0:
            code = 1
            signal.alarm(SECONDS)  # a program may wait for a thread of its own that has raised
            try:
                with redirect_stdout(sys.stderr):
                    stream.write(json.dumps(function()).encode())
                stream.flush()
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        stream.seek(0)
        return json.loads(stream.read()) if status == 0 else [0, "no outcome", str(status)]


def device_of(which: str) -> AbstractContextManager[None]:
    if which == "toy":
        return nullcontext()
    return pretend("cuda", lambda event, tensor: None, stop=True)  # noqa: ARG005


def run_program(path: str, which: str) -> Outcome:
    """A program for CUDA; on the test device with that name in its text."""
    if which == "toy":
        text = Path(path).read_text(encoding="utf-8")
        path = str(Path(tempfile.mkdtemp(), Path(path).name))
        Path(path).write_text(re.sub(r"\bcuda\b", "toy", text), encoding="utf-8")
    sys.argv = [path]
    sys.path.insert(0, str(Path(path).parent))
    with device_of(which):
        return outcome(lambda: runpy.run_path(path, run_name="__main__"), path)


def run_fixtures(which: str) -> dict[str, Outcome]:
    with device_of(which):
        return {
            f"{fixture.name}, {kind.name}, {mode}": run_cell(fixture, kind, mode, NAMES[which])
            for fixture in find_fixtures()
            for kind, mode in fixture.cells("toy")
        }


def run_cell(fixture: Fixture, kind: Kind, mode: str, device: str) -> Outcome:
    names = _names(kind.make(device), device)
    namespace: dict[str, object] = {"__name__": "fixture"}
    exec(compile(fixture.text, fixture.name, "exec", dont_inherit=True), namespace)
    with MODES[mode]():
        return outcome(lambda: eval(fixture.run, {**names, **namespace}), fixture.name)


def outcome(function: Callable[[], object], filename: str) -> Outcome:
    try:
        function()
    except SystemExit as error:
        return [] if not error.code else [0, "SystemExit", str(error.code)]
    except BaseException as error:
        rows = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == filename]
        return [rows[-1] if rows else 0, type(error).__name__, re.sub(r"\b(cuda|toy)(:0)?\b", "DEVICE", str(error))]
    return []


if __name__ == "__main__":
    main()
