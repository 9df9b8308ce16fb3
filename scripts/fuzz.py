"""Random programs through check, fix, why and notebooks: no exception, one fixed point, no change outside of repairs.

    python scripts/fuzz.py [FOLDER...] [--programs 100000] [--jobs 2] [--keep FOLDER] [--record]

The programs are the files of the folders (the fixtures, if none is named) changed at random, and one in twenty is
hypothesmith's, with conversions grafted upon it; see tests/fuzzing.py. None of them is run. Program number N is the
same each time; hypothesmith's are the same for the same version of it. `--keep` takes the programs with a flaw,
`--record` writes the figures into docs/verified.md. Exits with 1 if a flaw was found.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import fuzzing  # noqa: E402
import verified  # noqa: E402

CHUNK = 400  # programs that a process does at a time
NEIGHBOURS = 40  # files of the repository that a program stands in: where its callers are looked for
SHARE = 20  # one in so many programs is hypothesmith's


class Found(NamedTuple):
    """A flaw and the program that has it."""

    flaw: fuzzing.Flaw
    program: fuzzing.Program


class Part(NamedTuple):
    """What became of some programs: how many there were of each sort, and what was found."""

    counts: Counter[str]
    found: list[Found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long, wherever it is")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    paths = [path for folder in arguments.folders or [fuzzing.FIXTURES] for path in fuzzing.seeds(folder.resolve())]
    if not paths:
        parser.error(f"no Python file in {', '.join(map(str, arguments.folders))}")
    start = time.monotonic()
    counts: Counter[str] = Counter()
    found: list[Found] = []
    last = arguments.first + arguments.programs
    chunks = [range(first, min(first + CHUNK, last)) for first in range(arguments.first, last, CHUNK)]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        work = partial(examine, paths, start + arguments.seconds)
        for part in pool.map(work, chunks):
            counts += part.counts
            for each in part.found:
                _tell(each, arguments.keep, len(found))
                found.append(each)
            said = f"{counts['programs']} programs, {len(found)} flaws, {time.monotonic() - start:.0f} s"
            print(said, file=sys.stderr, flush=True)
    section = report(counts, found, len(paths), time.monotonic() - start)
    print(section)
    if arguments.record:
        verified.put_section(verified.PATH, f"Random programs, {verified.environment()}", section)
    return int(bool(found))


def examine(paths: list[Path], until: float, numbers: range) -> Part:
    if time.monotonic() > until:
        return Part(Counter(), [])
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for number, path in enumerate(random.Random(numbers.start).sample(paths, min(NEIGHBOURS, len(paths)))):
            shutil.copyfile(path, Path(folder, f"neighbour_{number}.py"))
        Path(folder, "pyproject.toml").touch()
        os.chdir(folder)
        try:
            return _examine(paths, numbers)
        finally:
            os.chdir(before)


def _examine(paths: list[Path], numbers: range) -> Part:
    counts: Counter[str] = Counter()
    found = []
    texts = fuzzing.texts_of_hypothesmith(numbers.start // CHUNK, 1 + len(numbers) // SHARE)
    for number in numbers:
        if number % SHARE == 0:
            program = fuzzing.grafted(texts[number // SHARE % len(texts)], paths, number)
        else:
            program = fuzzing.mutant(paths, number)
        examined = fuzzing.examine(program.text, number)
        counts.update(examined.traits)
        counts["programs"] += 1
        counts["hypothesmith"] += number % SHARE == 0
        found += [Found(flaw, program) for flaw in examined.flaws]
        if number % 50 == 0:
            gc.collect()
    return Part(counts, found)


def report(counts: Counter[str], found: list[Found], seeds: int, seconds: float) -> str:
    kinds = Counter(each.flaw.what for each in found)
    lines = [
        f"- date: {verified.now()}, {seconds:.0f} s",
        f"- {counts['programs']} programs: {counts['hypothesmith']} hypothesmith's, the others made of {seeds} files",
        f"- Python parses {counts['parsed']}; findings in {counts['found']}, repairs in {counts['repaired']}",
        f"- as a notebook, too: {counts['notebook']}",
        f"- flaws: {len(found) or 'none'}",
        *(f"  - {what}: {count}" for what, count in kinds.most_common()),
    ]
    return "\n".join(lines) + "\n"


def _tell(found: Found, keep: Path | None, number: int) -> None:
    print(f"FLAW {found.flaw.what}: {found.program.origin}", flush=True)
    if keep is None:
        return
    keep.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", found.flaw.what)[:40]
    try:
        (keep / f"{number}-{name}.py").write_bytes(found.program.text.encode("utf-8", "surrogatepass"))
        detail = f"{found.program.origin}\n{found.flaw.what}\n{found.flaw.detail}\n"
        (keep / f"{number}-{name}.txt").write_bytes(detail.encode("utf-8", "surrogatepass"))
    except OSError:
        traceback.print_exc()


if __name__ == "__main__":
    sys.exit(main())
