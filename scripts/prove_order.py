"""That the order of functions changes no finding of real repositories.

    python scripts/prove_order.py [--seeds N] TREE...

Each tree is copied, the functions of its modules and the methods of its classes are put into N other orders, and each
of these is checked, at low confidence: codes, places, messages and confidence. Ends with 1 where they differ.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from permuting import permuted, with_rows  # noqa: E402

if TYPE_CHECKING:
    from permuting import Permuted

OPTIONS = "--isolated --no-cache --jobs 1 --exit-zero --select ALL --confidence low --output-format json".split()

Place = tuple[str, int, int, str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first of the seeds; 0 turns the order round")
    parser.add_argument("--sources", type=Path, default=ROOT / "src")
    parser.add_argument("trees", nargs="+", type=Path)
    arguments = parser.parse_args()
    differ = 0
    for tree in arguments.trees:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(os.path.realpath(folder)) / tree.name
            shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "*.ipynb"))
            (copy / ".git").mkdir()  # it is a repository of its own, as it was
            before = _findings(arguments.sources, copy, {})
            texts = {path: path.read_bytes() for path in copy.rglob("*.py") if path.is_file()}
            for seed in range(arguments.first, arguments.first + arguments.seeds):
                orders = _rewrite(texts, random.Random(seed) if seed else None)
                after = _findings(arguments.sources, copy, orders)
                changed = sorted({*before} ^ {*after} | {each for each in before if before[each] != after.get(each)})
                differ += bool(changed)
                print(f"{tree.name}, seed {seed}: {len(orders)} files, {len(changed)} of {len(before)}", flush=True)
                for each in changed:
                    print(f"    {each}: {before.get(each)} -> {after.get(each)}")
    return differ > 0


def _rewrite(texts: dict[Path, bytes], chance: random.Random | None) -> dict[str, Permuted]:
    """Put the functions of all files into another order; what was done to each."""
    orders: dict[str, Permuted] = {}
    for path, data in texts.items():
        try:
            made = permuted(data.decode(), list.reverse if chance is None else chance.shuffle)
        except UnicodeDecodeError:
            made = None
        if made is not None:
            path.write_bytes(made.text.encode())
            orders[str(path)] = made
    return orders


def _findings(sources: Path, tree: Path, orders: dict[str, Permuted]) -> dict[Place, tuple[str, str]]:
    """What is found, with the rows that it had before; what is said of each."""
    command = [sys.executable, "-m", "tonumpy", "check", *OPTIONS, str(tree)]
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    done = subprocess.run(command, cwd=tree.parent, env=environment, capture_output=True, check=True)
    found: dict[Place, tuple[str, str]] = {}
    for each in json.loads(done.stdout):
        finding: dict[str, Any] = each
        filename = os.path.join(tree.parent, finding["filename"])
        row_before = orders[filename].row_before if filename in orders else int
        row = row_before(finding["location"]["row"])
        place = (os.path.relpath(filename, tree), row, finding["location"]["column"], finding["code"])
        found[place] = (finding.get("confidence", ""), with_rows(finding["message"], row_before))
    return found


if __name__ == "__main__":
    sys.exit(main())
