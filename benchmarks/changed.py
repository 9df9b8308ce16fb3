"""What a run costs after the first one: nothing changed, or one, five and twenty files.

    python -m benchmarks.changed [--rounds N] FOLDER...

Each folder is copied, and left alone until no time stamp in it is new. In a round every tool runs on the copy: without
a cache, with what the run before has kept, and after so many files that hold a candidate got a new line. The files are
chosen at random, the same for all tools; each tool gets its turn before the next step begins. Prints medians, and the
ratios to ast-grep and to ruff's warm run.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks import measure, sets, tools
from benchmarks.__main__ import CACHE

CHANGED = (1, 5, 20)
SETTLED = 3  # seconds: what was written less than two ago is read by the next run of tonumpy as well
COLD, WARM = "no cache", "nothing changed"
OURS, RUFF, AST_GREP = "tonumpy", "ruff", "ast-grep"


class Row(NamedTuple):
    """One tool in one situation, over all rounds."""

    tool: str
    situation: str
    costs: list[measure.Cost]


def main() -> None:
    arguments = _arguments()
    found = {tool.name: tool for tool in tools.TOOLS}
    chosen = {OURS: found["tonumpy check"], RUFF: found["ruff, rules NPY"], AST_GREP: found["ast-grep"]}
    binaries = {name: tools.install(tool, arguments.cache) for name, tool in chosen.items()}
    for folder in arguments.folders:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place, folder.name)
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".git"))
            _print(folder, copy, _measured(copy, Path(place), binaries, arguments.rounds))


def _measured(copy: Path, place: Path, binaries: dict[str, Path], rounds: int) -> list[Row]:
    ours = str(binaries[OURS] / "tonumpy"), "check", "--isolated", "--jobs=1", "--quiet"
    ruff = str(binaries[RUFF] / "ruff"), "check", "--isolated", "--quiet"
    kept = {OURS: (*ours, f"--cache-dir={place / 'ours'}"), RUFF: (*ruff, f"--cache-dir={place / 'ruff'}")}
    search = str(binaries[AST_GREP] / "ast-grep"), "run", "--lang=python", f"--pattern={tools.PATTERN}"
    cold = {OURS: (*ours, "--no-cache"), RUFF: (*ruff, "--no-cache"), AST_GREP: search}
    chosen = random.Random(0)
    files = [path for path in sets.python_files(copy) if b".numpy(" in path.read_bytes()]
    rows: dict[tuple[str, str], list[measure.Cost]] = {}

    def run(commands: dict[str, tuple[str, ...]], situation: str) -> None:
        for tool, command in commands.items():
            print(f"{copy.name}: {tool}, {situation}", file=sys.stderr)
            rows.setdefault((tool, situation), []).append(measure.cost_of([*command, str(copy)]))

    time.sleep(SETTLED)
    for command in kept.values():
        measure.cost_of([*command, str(copy)])
    for _ in range(rounds):
        run(cold, COLD)
        run(kept, WARM)
        for count in CHANGED:
            for path in chosen.sample(files, min(count, len(files))):
                path.write_bytes(path.read_bytes() + b"# changed\n")
            run(kept, f"changed: {count}")
    return [Row(*key, costs) for key, costs in rows.items()]


def _print(folder: Path, copy: Path, rows: list[Row]) -> None:
    medians = {(row.tool, row.situation): measure.median(row.costs) for row in rows}
    print(f"## {folder.name}: {len(sets.python_files(copy))} files\n")
    print("| tool | situation | CPU s | wall s | memory MB | to ast-grep | to warm ruff |")
    print("|---|---|---|---|---|---|---|")
    for (tool, situation), cost in medians.items():
        to_grep, to_ruff = (cost.cpu / medians[base].cpu for base in ((AST_GREP, COLD), (RUFF, WARM)))
        figures = f"{cost.cpu:.3f} | {cost.wall:.3f} | {cost.memory:.0f} | {to_grep:.3f} | {to_ruff:.1f}"
        print(f"| {tool} | {situation} | {figures} |")
    print(flush=True)


def _arguments() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(prog="python -m benchmarks.changed", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the environments of the tools are kept")
    return parser.parse_args()


if __name__ == "__main__":
    main()
