"""Kill `tonumpy fix --unsafe-fixes` at random moments, over and over again, and hold what it leaves to what must hold.

    python scripts/kill_fixes.py [--kills 1000] [--files 300] [--jobs 1] [--record]

Half of the runs get SIGKILL, the others SIGINT or SIGTERM; in every second group of runs an editor saves files
meanwhile. Each file must be wholly old or wholly repaired, what was saved last must be there, and after a run that is
not killed every file is repaired and no temporary file is left; see tests/killing.py. `--record` writes the figures
into docs/verified.md. Exits with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import killing  # noqa: E402
import verified  # noqa: E402

TOLD = 20  # kills between two lines
SHOWN = 20  # of what was wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time, each over files of its own")
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    begun = time.monotonic()
    total = killing.Campaign.nothing()
    chunks = [range(first, min(first + TOLD, arguments.kills)) for first in range(0, arguments.kills, TOLD)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        trees: SimpleQueue[killing.Tree] = SimpleQueue()
        for number in range(arguments.jobs):
            trees.put(killing.Tree(Path(folder, str(number)), arguments.files))

        def do(numbers: range) -> killing.Campaign:
            tree = trees.get()
            try:
                return killing.campaign(tree, numbers)
            finally:
                trees.put(tree)

        for part in pool.map(do, chunks):
            total = total.plus(part)
            said = f"{sum(total.kills.values())} kills, {len(total.wrong)} wrong, {time.monotonic() - begun:.0f} s"
            print(said, file=sys.stderr, flush=True)
    section = report(total, arguments.files, time.monotonic() - begun)
    print(section)
    if arguments.record:
        verified.put_section(verified.PATH, f"`tonumpy fix` killed, {verified.environment()}", section)
    return int(bool(total.wrong))


def report(total: killing.Campaign, files: int, seconds: float) -> str:
    kills, moments = total.kills, total.moments
    lines = [
        f"- date: {verified.now()}, {seconds:.0f} s",
        f"- {files} files to repair; {sum(kills.values())} kills: "
        + ", ".join(f"{kills[name]} by {name}" for name in sorted(kills)),
        f"- {moments['before']} before the first file was written, {moments['while']} while, {moments['after']} after",
        f"- {total.saves} saves by an editor meanwhile",
        f"- {total.left} temporary files left by killed runs, which the next run removed",
        f"- files neither old nor repaired, saves lost, files left behind, wrong words: {len(total.wrong) or 'none'}",
        *(f"  - {each}" for each in total.wrong[:SHOWN]),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
