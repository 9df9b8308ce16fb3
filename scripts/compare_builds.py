"""Run two builds of tonumpy over trees and print which findings only one of them reports.

    python scripts/compare_builds.py OLD NEW TREE... [--option=--confidence=low] [--list] [--most N]

OLD and NEW are commands, such as the `tonumpy` of two environments. A finding is the same in both if file, code and row
are. Each tree is checked as it stands, without its settings and without a cache; the CPU time of both is printed. Exits
with 1 if a run failed, 0 otherwise: a difference is to be read, not an error.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple


class Found(NamedTuple):
    """What one build reports in a tree."""

    findings: dict[tuple[str, str, int], str]
    seconds: float


def check(command: str, tree: Path, options: list[str]) -> Found:
    """Run `check` in the tree. RuntimeError if it does not report, which exit code 2 alone does not say."""
    arguments = [*shlex.split(command), "check", "--isolated", "--no-cache", "--exit-zero", "--quiet", *options]
    before = os.times()
    done = subprocess.run([*arguments, "--output-format", "json", "."], cwd=tree, capture_output=True, text=True)
    after = os.times()
    try:
        rows = json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"{command} ended with {done.returncode} in {tree}: {done.stderr[-1000:]}") from None
    found = {
        (os.path.relpath(row["filename"], tree.resolve()), row["code"], row["location"]["row"]): (
            f"{row.get('confidence', 'error')}: {row['message']}"
        )
        for row in rows
    }
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Found(found, used)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--option", action="append", default=[], help="an option of `check` for both builds")
    parser.add_argument("--list", action="store_true", help="print each finding that only one build reports")
    parser.add_argument("--most", type=int, default=50, help="findings to list per tree (default: 50)")
    arguments = parser.parse_args()
    total: Counter[str] = Counter()
    failed = False
    for tree in arguments.trees:
        try:
            old, new = (check(command, tree, arguments.option) for command in (arguments.old, arguments.new))
        except RuntimeError as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        gone, added = (sorted(one.findings.keys() - other.findings.keys()) for one, other in ((old, new), (new, old)))
        same = len(old.findings.keys() & new.findings.keys())
        total.update(same=same, gone=len(gone), new=len(added))
        seconds = f"CPU {old.seconds:.1f} s and {new.seconds:.1f} s"
        print(f"{tree.name}: {same} the same, {len(gone)} gone, {len(added)} new; {seconds}")
        if arguments.list:
            for sign, keys, findings in (("-", gone, old.findings), ("+", added, new.findings)):
                for path, code, row in keys[: arguments.most]:
                    print(f"  {sign} {path}:{row}: {code} {findings[path, code, row]}")
    print(f"together: {total['same']} the same, {total['gone']} gone, {total['new']} new")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
