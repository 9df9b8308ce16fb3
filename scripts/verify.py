"""Run the proof at run time on every device of this machine; write docs/verified.md, which says only what a run saw.

    python scripts/verify.py [--output FILE]

The file has one section for each environment (Python, torch, GPU): a run replaces its own and leaves the others.
Exit code 1 if a cell failed.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import devices  # noqa: E402
import numpy as np  # noqa: E402
import runtime_fixtures  # noqa: E402
import runtime_functions  # noqa: E402
import runtime_matrix  # noqa: E402
import torch  # noqa: E402
import truth_table  # noqa: E402

import tonumpy  # noqa: E402
from tonumpy.findings import STYLES  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable

    Cell = runtime_matrix.Cell | runtime_functions.Cell | truth_table.Cell

HEADER = """\
# What was run

Written by `python scripts/verify.py`: one section for each environment that it ran in, in the words of that run.

- truth table: each way to convert, with each sort of tensor, does exactly what the rules rest on.
- executable fixtures: each, as it is and as `tonumpy` repairs it, with each sort of tensor in each grad mode. The
  original raises exactly what is foretold or gives its value; the repaired code gives that value, with its dtype, its
  shape and its memory shared or not, or raises what no repair can do away with. A cell is healed if the original
  raised and the repaired code gives the value.
- functions of all fixtures: after the repair none raises one of the two exceptions that a repair does away with, and
  none gives another value. Functions of tensors on which `tonumpy` is silent are held to the same.

The device `toy` is a test device on torch's PrivateUse1 key with host memory behind it.
"""

SHOWN = 20  # of the cells that failed


class Tally(NamedTuple):
    """How many cells of one sort ran on a device, how many were healed, and what failed."""

    what: str
    device: str
    cells: int
    healed: int
    failed: list[Cell]


def main() -> int:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "verified.md", help="default: docs/verified.md")
    output: Path = parser.parse_args().output
    tallies = [tally for device in devices.DEVICES if not devices.unavailable(device) for tally in run_on(device)]
    title, section = environment(), report(tallies)
    print(f"## {title}\n\n{section}")
    sections = read_sections(output) | {title: section}
    text = "".join(f"\n## {title}\n\n{section}" for title, section in sorted(sections.items()))
    output.write_text(HEADER + text, "utf-8")
    return int(any(tally.failed for tally in tallies))


def run_on(device: str) -> list[Tally]:
    tallies = [tally("truth table", device, truth_table.run_table(device))]
    executable = runtime_fixtures.find_fixtures()
    for style in STYLES:
        cells = [
            cell
            for fixture in executable
            for cell in runtime_matrix.run_matrix(
                fixture,
                device,
                tonumpy.fix_source(fixture.text, unsafe=True, style=style),
                forced=style == "force",
            )
        ]
        tallies.append(tally(f"{len(executable)} executable fixtures, style `{style}`", device, cells))
    compared = list(runtime_functions.run_all(device))
    functions = {(cell.fixture, cell.function) for cell in compared}
    return [*tallies, tally(f"{len(functions)} functions of all fixtures", device, compared)]


def unhealed() -> list[truth_table.Cell]:
    """The cells of the truth table in which a repaired conversion raises."""
    cells = truth_table.run_table("cpu")
    return [
        cell for cell in cells if cell.way == truth_table.REPAIRED and isinstance(cell.expected, truth_table.Raises)
    ]


def tally(what: str, device: str, cells: Iterable[Cell]) -> Tally:
    ran = list(cells)
    healed = sum(isinstance(cell, runtime_matrix.Cell) and cell.healed for cell in ran)
    return Tally(what, device, len(ran), healed, [cell for cell in ran if cell.problem])


def environment() -> str:
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"Python {platform.python_version()}, torch {torch.__version__}, {gpu}"


def report(tallies: list[Tally]) -> str:
    rows = [
        f"| {each.device} | {each.what} | {each.cells} | {each.healed or '-'} | {len(each.failed) or 'none'} |"
        for each in tallies
    ]
    missing = [
        f"- not run on {device}: {reason}" for device in devices.DEVICES if (reason := devices.unavailable(device))
    ]
    cells, failed = sum(each.cells for each in tallies), [cell for each in tallies for cell in each.failed]
    lines = [
        *machine(),
        *missing,
        "",
        "| device | what | cells | healed | failed |",
        "| --- | --- | --- | --- | --- |",
        *rows,
        "",
        f"{cells} cells, {len(failed) or 'none'} failed.",
        *(f"- FAILED: {' '.join(str(cell).split())}" for cell in failed[:SHOWN]),
        "",
        "What still raises after the repair:",
        "",
        "| tensor, on the CPU | `t.detach().cpu().numpy()` |",
        "| --- | --- |",
        *(f"| {cell.row} | {cell.problem or f'`{cell.expected}`'} |" for cell in unhealed()),
    ]
    return "\n".join(lines) + "\n"


def machine() -> list[str]:
    now = datetime.datetime.now(datetime.timezone.utc)
    lines = [
        f"- date: {now:%Y-%m-%d %H:%M} UTC",
        f"- tonumpy {version()}, NumPy {np.__version__}, {platform.system()} {platform.machine()}",
    ]
    if torch.cuda.is_available():
        lines.append(f"- GPU: {torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, driver {driver_version()}")
    return lines


def version() -> str:
    try:
        return tonumpy.__version__
    except PackageNotFoundError:
        return "(not installed: run from the source tree)"


def driver_version() -> str:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        return f"unknown ({error})"


def read_sections(path: Path) -> dict[str, str]:
    """What earlier runs wrote, by environment."""
    if not path.exists():
        return {}
    parts = path.read_text("utf-8").split("\n## ")[1:]
    return {title: section for title, _, section in (part.partition("\n\n") for part in parts)}


if __name__ == "__main__":
    sys.exit(main())
