"""Sweep real repositories while workers are killed, and hold what comes out to what `tonumpy check` says in clones.

    python scripts/prove_sweep.py FOLDER [--commits 2] [--kills 10] [--limit 60]

takes the repositories in FOLDER at their last commit and at older ones. Exits with 1 if one byte differs.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import psutil
import pyarrow.parquet as pq

TONUMPY = [sys.executable, "-m", "tonumpy"]
APART = 200  # commits between two that are swept, where a repository has as many


class Checked(NamedTuple):
    """What `check` said in a clone: its report with relative names, and the processor time that it took."""

    report: list[dict[str, object]]
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commits", type=int, default=2)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        targets = _targets(arguments.folder, arguments.commits, arguments.limit)
        seconds, killed = _sweep(work, targets, arguments.workers, arguments.kills)
        swept, costs, failed = _read(work / "out")
        print(f"swept {len(swept)} of {len(targets)} commits in {seconds:.0f} s, {killed} workers killed")
        return _compare(work, targets, swept, costs) or len(failed) > 0 or len(swept) != len(targets)


def _targets(folder: Path, commits: int, limit: int) -> list[tuple[str, str]]:
    """Repositories and commits, each repository at as many."""
    found = []
    heads = [path.parent for pattern in ("*/HEAD", "*/*/HEAD", "*/*/*/HEAD") for path in folder.glob(pattern)]
    for path in sorted(each for each in heads if (each / "objects").is_dir())[:limit]:
        ids = _git(path, "rev-list", "--first-parent", f"--max-count={APART * commits}", "HEAD").split()
        step = max(1, min(APART, (len(ids) - 1) // max(1, commits - 1)))
        found += [(str(path), each) for each in ids[::step][:commits]]
    return found


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def _sweep(work: Path, targets: list[tuple[str, str]], workers: int, kills: int) -> tuple[float, int]:
    with open(work / "targets.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([("repository", "revision"), *targets])
    command = [*TONUMPY, "sweep", "targets.csv", "out", "--workers", str(workers)]
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=work)
    killed, pause = 0, 3.0
    while process.poll() is None:
        time.sleep(pause)
        busy = []
        for each in psutil.Process(process.pid).children() if process.poll() is None else []:
            with contextlib.suppress(psutil.Error):
                if "dask_worker" in str(each.cmdline()) and each.children():
                    busy.append(each)
        if killed < kills and busy:
            random.choice(busy).kill()
            killed += 1
            pause = random.uniform(1.0, 8.0)
    return time.monotonic() - start, killed


def _read(out: Path) -> tuple[dict[tuple[str, str], list[dict[str, object]]], dict[tuple[str, str], float], list[str]]:
    rows = pq.read_table(out / "repositories").to_pylist()
    reports: dict[tuple[str, str], list[dict[str, object]]] = {(row["repository"], row["commit"]): [] for row in rows}
    costs = {(row["repository"], row["commit"]): row["cpu_seconds"] for row in rows}
    failed = []
    for table in ("findings", "failures"):
        for row in pq.read_table(out / table).to_pylist():
            if row["report"] is None:
                failed.append(f"{row['repository']}: {row['reason']}")
            else:
                reports[row["repository"], row["commit"]].append(json.loads(row["report"]))
    for each in failed:
        print(f"FAILED {each}")
    return reports, costs, failed


def _compare(
    work: Path,
    targets: list[tuple[str, str]],
    swept: dict[tuple[str, str], list[dict[str, object]]],
    costs: dict[tuple[str, str], float],
) -> bool:
    differ, findings, ratios = 0, 0, []
    for target in targets:
        checked = _check(work, *target)
        found = sorted(swept.get(target, []), key=lambda entry: str(entry["filename"]))
        findings += len(found)
        if json.dumps(found, indent=2) != json.dumps(checked.report, indent=2):
            differ += 1
            print(f"DIFFERENT {target[0]} at {target[1]}: {len(found)} entries, not {len(checked.report)}")
        ratios.append((costs.get(target, 0.0), checked.seconds, target[0]))
    ours, theirs = sum(each[0] for each in ratios), sum(each[1] for each in ratios)
    over = sorted(((one / other, one, other, name) for one, other, name in ratios if one > 1.1 * other), reverse=True)
    print(f"{len(targets)} commits, {findings} entries, {differ} commits differ")
    print(f"processor time: {ours:.1f} s in the tasks, {theirs:.1f} s in check: {ours / theirs:.2f} times")
    print(f"more than 1.1 times in {len(over)} of {len(ratios)}; the most:")
    for ratio, one, other, name in over[:10]:
        print(f"  {ratio:.2f} times: {one:.2f} s, not {other:.2f} s: {name}")
    return differ > 0


def _check(work: Path, repository: str, commit: str) -> Checked:
    """In a clone, as a person would."""
    with tempfile.TemporaryDirectory(dir=work) as name:
        clone = Path(name) / "clone"
        _git(work, "clone", "--quiet", "--shared", "--no-checkout", repository, str(clone))
        environment = os.environ | {"GIT_LFS_SKIP_SMUDGE": "1"}
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=clone, env=environment, check=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [*TONUMPY, "check", "--jobs=1", "--quiet", "--output-format=json"], cwd=clone, capture_output=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1, 2):
            sys.exit(f"check ended with {done.returncode}: {os.fsdecode(done.stderr)}")
        text = os.fsdecode(done.stdout).replace(f"{clone.resolve()}{os.sep}", "")
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Checked(json.loads(text or "[]"), seconds)


if __name__ == "__main__":
    sys.exit(main())
