"""A program, run on the stand-in in a process of its own -> what was told of it.

Autograd counts the devices of a process when it first goes backward, so the process of the tests will not do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from time_limits import PATIENCE

_RUN = """
import json, runpy, sys
from tonumpy.rehearsal.standin import pretend
events = []
program, out, device, stop, devices = sys.argv[1:6]
sys.argv = [program, *sys.argv[6:]]
try:
    with pretend(device, lambda event, tensor: events.append(event), stop=stop == "True", devices=int(devices)):
        runpy.run_path(program, run_name="__main__")
finally:
    rows = [next((call.row for call in event.stack if call.filename == program), 0) for event in events]
    with open(out, "w") as file:
        json.dump([{**event._asdict(), "row": row} for event, row in zip(events, rows)], file)
"""


class Told(NamedTuple):
    """One event, and the row of the program that it belongs to."""

    row: int
    way: str
    reasons: tuple[str, ...]
    device: str
    error: tuple[str, str] | None
    event: dict[str, object]


class Run(NamedTuple):
    """How a program ended, and what was told."""

    code: int
    output: str
    errors: str
    told: tuple[Told, ...]

    @property
    def refused(self) -> dict[int, set[str]]:
        """For each row, why something was refused there."""
        found: dict[int, set[str]] = {}
        for told in self.told:
            if told.reasons:
                found.setdefault(told.row, set()).update(told.reasons)
        return found


def run(text: str, folder: Path, *arguments: str, device: str = "cuda", stop: bool = False, devices: int = 1) -> Run:
    """Run a program that is called program.py in a folder."""
    program, out = folder / "program.py", folder / "events.json"
    program.write_text(textwrap.dedent(text), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(program), str(out), device, str(stop), str(devices), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    told = tuple(
        Told(
            each["row"],
            each["way"],
            tuple(each["reasons"]),
            each["device"],
            None if each["error"] is None else (each["error"][0], each["error"][1]),
            each,
        )
        for each in (json.loads(out.read_text(encoding="utf-8")) if out.exists() else [])
    )
    return Run(done.returncode, done.stdout, done.stderr, told)


def marks(text: str) -> dict[int, set[str]]:
    """What a program says of its rows: `# refused: device,grad`."""
    found = {}
    for row, line in enumerate(textwrap.dedent(text).splitlines(), 1):
        _, mark, reasons = line.partition("# refused: ")
        if mark:
            found[row] = set(reasons.strip().split(","))
    return found
