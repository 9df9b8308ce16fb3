"""That a run with a cache says what one without says, whatever is edited between two runs.

    python scripts/prove_cache.py [--steps N] [--seed N] FOLDER...

Each folder is copied, and edited at random; after each edit the copy is checked with the cache that the runs before
have left, and without one. All of both reports has to be the same: findings, places, fixes, evidence and errors. Ends
with 1 at the first difference, and says which edit it came with.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from random_edits import Editor

from tonumpy.engine.names import lookups
from tonumpy.frontends import cli
from tonumpy.frontends.cli_arguments import parse_arguments


class Answer(NamedTuple):
    """What a run says, and its CPU seconds."""

    findings: list[object]
    errors: list[str]
    cpu: float


def main() -> int:
    arguments = _arguments()
    if arguments.trust_stamps:
        lookups.SETTLED = 0
    os.environ.pop("TONUMPY_NO_CACHE", None)
    for number, folder in enumerate(arguments.folders):
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place, folder.name)
            shutil.copytree(folder, copy, symlinks=True)
            os.chdir(place)
            editor = Editor(copy.relative_to(place), random.Random(arguments.seed + number))
            if not _proved(editor, arguments.steps, Path(place, "cache")):
                return 1
    return 0


def _proved(editor: Editor, steps: int, cache: Path) -> bool:
    cold = warm = 0.0
    changed = findings = 0
    before: list[object] = []
    for step in range(steps):
        what = editor.edit() if step else "nothing"
        with_cache = _check(str(editor.root), "--cache-dir", str(cache))
        without = _check(str(editor.root), "--no-cache")
        if with_cache[:2] != without[:2]:
            print(f"{editor.root}: after step {step} ({what}) the cache says otherwise")
            for one, other in ((with_cache, without), (without, with_cache)):
                print(*(each for each in (*one.findings, *one.errors) if each not in (*other.findings, *other.errors)))
            return False
        cold, warm = cold + without.cpu, warm + (with_cache.cpu if step else 0)
        changed += without.findings != before
        findings += len(without.findings)
        before = without.findings
        gc.unfreeze()  # a command ends here
        gc.collect()
    print(
        f"{editor.root}: {steps} steps, all the same; {changed} of them changed the findings, {findings / steps:.1f} on"
        f" average; CPU {warm:.1f} s with the cache, {cold:.1f} s without",
        flush=True,
    )
    return True


def _check(folder: str, *options: str) -> Answer:
    start = time.process_time()
    parsed = parse_arguments(["check", "--isolated", "--jobs=1", "--quiet", "--select=ALL", *options, folder])
    report = cli.process_files(parsed, "check").report()
    cpu = time.process_time() - start
    return Answer(list(report.findings), [f"{error.place} {error.reason}" for error in report.errors], cpu)


def _arguments() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=lambda text: Path(text).resolve(), metavar="FOLDER")
    parser.add_argument("--steps", type=int, default=1000, help="in each folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--trust-stamps",
        action="store_true",
        help="trust the stamp of a file that was just written, too: else every file is just written and is read",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
