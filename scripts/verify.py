"""Run the proof at run time on every device of this machine; write docs/verified.md, which says only what a run saw.

    python scripts/verify.py [--device cpu] [--output FILE] [--fixtures TEXT]

The file has one section for each environment (Python, torch, GPU): a run replaces its own and leaves the others.
Exit code 1 if a cell failed.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import sys
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
from tonumpy.findings import LINKS, STYLES  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable

    Cell = runtime_matrix.Cell | runtime_functions.Cell | truth_table.Cell

OUTPUT = ROOT / "docs" / "verified.md"
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
    parser.add_argument("--output", type=Path, default=OUTPUT, help="default: docs/verified.md")
    parser.add_argument("--device", action="append", choices=devices.DEVICES, help="only on this one; may be repeated")
    parser.add_argument("--fixtures", metavar="TEXT", default="", help="only those whose paths hold this text")
    arguments = parser.parse_args()
    output: Path = arguments.output
    chosen = [device for device in arguments.device or devices.DEVICES if not devices.unavailable(device)]
    tallies = [tally for device in chosen for tally in run_on(device, arguments.fixtures)]
    title, section = environment(), report(tallies)
    print(f"## {title}\n\n{section}")
    put_section(output, title, section)
    return int(any(tally.failed for tally in tallies))


def put_section(path: Path, title: str, section: str) -> None:
    """Replace the section of that title, or add it, and leave the others."""
    text = path.read_text("utf-8") if path.exists() else "# What was run\n"
    header, *parts = text.split("\n## ")
    sections = dict(part.rstrip().split("\n\n", 1) for part in parts) | {title: section.rstrip()}
    path.write_text(header + "".join(f"\n## {name}\n\n{sections[name]}\n" for name in sorted(sections)), "utf-8")


def run_on(device: str, part: str = "") -> list[Tally]:
    """`part`: only of the fixtures whose paths hold this text."""
    tallies = [tally("truth table", device, truth_table.run_table(device))]
    executable = [each for each in runtime_fixtures.find_fixtures() if part in each.name]
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
    for links in LINKS:
        compared = list(runtime_functions.run_all(device, links, part))
        functions = {(cell.fixture, cell.function) for cell in compared}
        tallies.append(tally(f"{len(functions)} functions of all fixtures, links `{links}`", device, compared))
    return tallies


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
    ran = {each.device for each in tallies}
    missing = [
        f"- not run on {device}: {devices.unavailable(device) or 'it was not asked for'}"
        for device in devices.DEVICES
        if device not in ran
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
    lines = [
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- tonumpy {tonumpy.__version__}, NumPy {np.__version__}, {platform.system()} {platform.machine()}",
    ]
    if torch.cuda.is_available():
        lines.append(f"- GPU: {torch.cuda.get_device_name()}, CUDA {torch.version.cuda}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
