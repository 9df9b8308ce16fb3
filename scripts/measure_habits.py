"""How often each habit takes a finding out of what is shown, on public repositories. Writes docs/habits-measured.md.

    python scripts/measure_habits.py TREE...                        count, and print the table
    python scripts/measure_habits.py --store FOLDER TREE...         keep what is found, and go on where a run ended
    python scripts/measure_habits.py --store FOLDER --draw 15 TREE...   print findings to read, some of each habit
    python scripts/measure_habits.py --store FOLDER --page TREE...  write the page

A tree is checked as a user checks it, at low confidence, where each finding names the habits that it rests on. How many
of those that were drawn and read are wrong stands in habits_read.toml.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tonumpy.inference.habits import habit_ids

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
READ = ROOT / "scripts" / "habits_read.toml"
PAGE = ROOT / "docs" / "habits-measured.md"
OPTIONS = "check --isolated --no-cache --exit-zero --confidence low --output-format json .".split()
SEED = 63  # of what is drawn
HEAD = """# How often each habit counts

What `scripts/measure_habits.py` counted on {trees} public repositories (commit {commit}). *Lowers* are findings of low
confidence that rest on the habit, *alone* those that rest on no other, and would be shown by default without it;
*trees* those on which it lowers any. Up to {drawn} of each were read, those on the habit alone first, drawn evenly over
the trees (`--draw {drawn}`, whose seed is fixed), by one reader, who looked up the callers, scripts and documents of a
repository where the lines around did not tell. *Wrong* are those where the conversion can raise as the repository is
used, *open* those where that could not be told.

"""
TABLE = "| habit | lowers | alone | trees | read | wrong | open |\n|---|---:|---:|---:|---:|---:|---:|\n"


class Counted(NamedTuple):
    """What is found on trees: of each habit the findings that rest on it, by tree; and of them those on it alone."""

    lowered: dict[str, dict[str, list[dict[str, Any]]]]
    alone: dict[str, dict[str, list[dict[str, Any]]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="the folder that keeps what is found, one file a tree")
    parser.add_argument("--draw", type=int, metavar="N", help="print N findings of each habit in place of the table")
    parser.add_argument("--page", action="store_true", help="write docs/habits-measured.md")
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    arguments = parser.parse_args()
    for tree in arguments.trees:
        if not tree.is_dir():
            parser.error(f"{tree}: no such folder")
    counted = _counted({tree.absolute().name: _found(tree, arguments.store) for tree in arguments.trees})
    if arguments.draw:
        for habit, place in _drawn(counted, arguments.draw):
            print(habit, place)
        return
    print(_table(counted), end="")
    if arguments.page:
        names = [tree.absolute().name.replace("+", "/") for tree in arguments.trees]
        PAGE.write_text(_page(counted, names), encoding="utf-8")


def _found(tree: Path, store: Path | None) -> list[dict[str, Any]]:
    """The findings of a tree, as a user's check of it prints them; files that cannot be parsed are among them."""
    kept = None if store is None else store / f"{tree.absolute().name}.json"
    if kept is not None and kept.exists():
        text, place, told = kept.read_text(encoding="utf-8"), kept, ""
    else:
        command = [sys.executable, "-m", "tonumpy", *OPTIONS]
        done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
        text, place, told = done.stdout, tree, f"\nthe check ended with {done.returncode}\n{done.stderr[-2000:]}"
    try:
        found: list[dict[str, Any]] = json.loads(text)
    except ValueError as error:
        sys.exit(f"measure_habits.py: error: {place}: no findings: {error}{told}")
    if kept is not None and not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(text, encoding="utf-8")
    return found


def _counted(trees: dict[str, list[dict[str, Any]]]) -> Counted:
    counted = Counted(defaultdict(lambda: defaultdict(list)), defaultdict(lambda: defaultdict(list)))
    for tree, findings in sorted(trees.items()):
        for finding in findings:
            if finding.get("confidence") != "low":  # a file that cannot be parsed has none
                continue
            habits = {each["id"] for each in finding["evidence"] if each["kind"] == "habit"}
            for habit in habits:
                counted.lowered[habit][tree].append(finding)
                if len(habits) == 1:
                    counted.alone[habit][tree].append(finding)
    return counted


def _drawn(counted: Counted, number: int) -> Iterator[tuple[str, str]]:
    """Habits and places of findings: first of those on the habit alone, one from each tree in turn."""
    shuffled = random.Random(SEED)
    for habit, lowered in sorted(counted.lowered.items()):
        alone = counted.alone[habit]
        others = {tree: [each for each in found if each not in alone[tree]] for tree, found in lowered.items()}
        left = number
        for by_tree in (alone, others):
            if not left:
                break
            pools = {tree: shuffled.sample(found, len(found)) for tree, found in sorted(by_tree.items()) if found}
            order = sorted(pools)
            shuffled.shuffle(order)
            while left and any(pools.values()):
                for tree in order:
                    if left and pools[tree]:
                        left -= 1
                        yield habit, _place(pools[tree].pop())


def _place(finding: dict[str, Any]) -> str:
    cell = "" if finding["cell"] is None else f"cell {finding['cell']}:"
    return f"{finding['filename']}:{cell}{finding['location']['row']}:{finding['location']['column']} {finding['code']}"


def _table(counted: Counted) -> str:
    read = tomllib.loads(READ.read_text(encoding="utf-8"))["read"]
    lowers = Counter({habit: sum(map(len, counted.lowered[habit].values())) for habit in habit_ids()})
    rows = []
    for habit, number in lowers.most_common():
        alone = sum(map(len, counted.alone[habit].values()))
        trees = sum(map(bool, counted.lowered[habit].values()))
        cells = (habit, number, alone, trees, *(read[habit][key] for key in ("read", "wrong", "open")))
        rows.append(f"| {' | '.join(map(str, cells))} |\n")
    return TABLE + "".join(rows)


def _page(counted: Counted, names: list[str]) -> str:
    told = tomllib.loads(READ.read_text(encoding="utf-8"))
    head = HEAD.format(trees=len(names), commit=told["commit"], drawn=told["drawn"])
    notes = "".join(f"- {note}\n" for note in told["notes"])
    return f"{head}{_table(counted)}\n{notes}\nThe repositories: {', '.join(sorted(names, key=str.lower))}.\n"


if __name__ == "__main__":
    main()
