"""Writes docs/reference from habits, rows about libraries and fixtures; --check only names what differs."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tonumpy.inference.habits import all_habits

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reference"
FIXTURES = ROOT / "fixtures"
SINKS = ROOT / "src" / "tonumpy" / "sinks" / "libraries"
TAKEN = ROOT / "src" / "tonumpy" / "sinks" / "taken" / "table.json"
COPIES = ROOT / "scripts" / "sink_trials" / "copies.toml"
TRIALS = ROOT / "scripts" / "sink_trials"
LIBRARIES = ROOT / "src" / "tonumpy" / "engine" / "knowledge" / "libraries"

HABITS = """\
# Habits

What people who write torch code mostly mean by a name or a place. No habit is proof: what rests on one alone is shown
with `--confidence low`, and `disable-habits` switches it off. These pages are the habits' own docstrings
(`tonumpy explain habit/NAME`), written by `python scripts/write_reference.py`.

| habit | what it says | asked of |
|---|---|---|
"""

PROMISES = """\
# Promises of libraries

The rows of `src/tonumpy/engine/knowledge/libraries`, written by `python scripts/write_reference.py`;
[library-rows.md](../library-rows.md) explains the words. Torch's own operators are not here: what they do is
measured on torch itself.
"""

SILENT = """\
# Wrong without an error

What was measured for the rules whose findings raise nothing, written by `python scripts/write_reference.py`.

## Tensors taken for values (TNP206)

What comes out where a tensor stands in place of the equal array, number or list: `a` is an object of the library, `t`
the tensor. What raises is not here (TNP104, TNP108 tell of it), nor what gives a tensor of the same values. Tried were
one of several numbers ("tensor"), of bool ("mask"), of one element ("one"), without dimensions ("number"), and these in
a list ("items"), a dict ("values"), a list of dicts ("rows") and a dict of lists ("lists"). The command `python
scripts/measure_sinks.py --operations` writes `src/tonumpy/sinks/taken/table.json`.

"""

WORDS = """\

| word | what comes out |
|---|---|
| `axis` | one axis less |
| `chance` | what is found depends on the addresses of objects |
| `false`, `true` | False, True, also for equal values |
| `identity` | equal tensors stay apart |
| `method` | a method of the tensor |
| `none` | None, or a default, as for a key that is not there |
| `objects` | the tensors themselves, as objects |
| `text`, `picture` | `tensor(...)` as text, or drawn |
| `shape`, `values` | another shape, other values |

| of | operation | what comes out | objects |
|---|---|---|---|
"""

MEASURED = """\
# What other libraries do with a tensor

Of each library the public callables that were tried, methods included, those that took an array in one of their
parameters, and those of them that refuse a tensor there, or a list or dict of tensors: one that requires grad, is on a
device, is of bfloat16, is sparse, or every tensor. A row of a table says which error that is, and the library's own
words, where these are not NumPy's. TNP104 reports by these tables. `python scripts/measure_sinks.py`
tries the callables and writes `src/tonumpy/sinks/libraries`, `python scripts/write_reference.py` this page.

What took no array is not known: a function that needs a file of its own, an object that no rule makes, or a callback.
"Ended" counts what crashed or did not come to an end, and was ended, "left" what was not tried for want of time.
"Later" counts what takes a tensor and raises when its object is drawn, printed or fitted. "Something else" counts what
takes every tensor in silence and gives another result than for the equal array; these are listed below. Where that is
a tensor in place of an array, it is not counted.

| library | measured with | tried | takes an array | refuses grad | device | bfloat16 | sparse | every tensor | ended |\
 left | later | something else | takes all |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""
COUNTS = ("tried", "accept", "grad", "device", "bfloat16", "sparse", "every", "unfinished", "left")
TAKING = """
## What NumPy refuses, and these take

These functions are given tensors of every sort where they take arrays, and convert none, or convert them in a way of
their own (as `float(x)` does). So no finding speaks of them. Counted since torch 2.13 for libraries measured anew.

| library | functions |
|---|---|
"""
BY_HAND = """
## Rows that were not measured

Where no machine of ours has what a library needs, its rows say what another one answered.

| library | rows |
|---|---|
"""
UNMEASURED = """
## Libraries that have no table, and why

| library | why |
|---|---|
"""
OTHERS = """
## Something else in silence

No finding speaks of these. `text`: the tensor is written out, as `tensor(0.5)`; `picture`: it is drawn so; `objects`:
an array holds tensors; `shape` and `values`: the array is another.

| library | function | where a tensor is given, and what differs |
|---|---|---|
"""


CONSTRUCTS = """\
# Constructs, with an example each

A line for each construct that the fixtures show, with its example. Comments there say what is reported, what saves a
file that is silent, and what is known. Every example is a test. `python scripts/write_reference.py` writes this page
from the names of the fixtures and their first sentences, or the names of their functions;
[constructs.md](../constructs.md) has the words.
"""
SHELVES = {
    "facts": "What a receiver is",
    "flow": "What happens on the way to it",
    "libraries": "What libraries give",
    "habits": "What rests on a habit",
    "reveal": "What is known, one construct of the language a file",
}
_SAID = re.compile(r'(?:# (?:options|python): [^\n]*\n)*(?:"""(.+?)(?:"""|\n\n)|((?:# [^\n]*\n)+))', re.DOTALL)
_NAMES_SHOWN = 6
_SENTENCE = re.compile(r".+?[.?!](?= [A-Z`]|$)")


def pages() -> dict[Path, str]:
    """What the folder should hold."""
    return {
        FOLDER / "constructs.md": _constructs(),
        FOLDER / "habits.md": _habits(),
        FOLDER / "libraries.md": _promises(),
        FOLDER / "sinks.md": _measured(),
        FOLDER / "silent.md": _silent(),
    }


def _constructs() -> str:
    found = [CONSTRUCTS]
    for name, title in SHELVES.items():
        found.append(f"\n## {title}\n")
        shelves = sorted(path for path in (FIXTURES / name).iterdir() if path.is_dir() and path.name != "modules")
        for shelf in (FIXTURES / name, *(each for each in shelves if not each.name.startswith("_"))):
            files = {path.stem: path for path in sorted(shelf.glob("*.py")) if not path.stem.endswith(".fixed")}
            if shelf.name != name and files:
                found.append(f"\n### {shelf.name.removeprefix('of_').replace('_', ' ')}\n")
            if files:
                found.append("\n| construct | what is shown | example |\n|---|---|---|\n")
            for stem in sorted({stem.removeprefix("clean_") for stem in files}):
                found.append(
                    _row(stem, files.get(stem), files.get(f"clean_{stem}"), "known" if name == "reveal" else "reported")
                )
    return "".join(found)


def _row(stem: str, flagged: Path | None, clean: Path | None, word: str) -> str:
    said = next(filter(None, (_first_sentence(path) for path in (flagged, clean) if path)), "")
    links = [
        f"[{word}]({Path(os.path.relpath(path, FOLDER)).as_posix()})"
        for word, path in ((word, flagged), ("silent", clean))
        if path
    ]
    return f"| {stem.replace('_', ' ')} | {said} | {', '.join(links)} |\n"


def _first_sentence(path: Path) -> str:
    """Of the docstring, or of the comment at the head of the file; the names of functions where there is neither."""
    text = path.read_text(encoding="utf-8")
    match = _SAID.match(text)
    if match is None:
        names = dict.fromkeys(re.findall(r"^ *(?:async )?def ([a-z]\w+)", text, re.MULTILINE))
        return ", ".join(f"`{name}`" for name in list(names)[:_NAMES_SHOWN])
    words = " ".join((match[1] or re.sub(r"^# ", "", match[2], flags=re.MULTILINE)).split())
    sentence = _SENTENCE.match(words)
    return (sentence[0] if sentence else words).replace("|", "\\|")


def _habits() -> str:
    found = [HABITS]
    for habit in all_habits():
        found.append(f"| [{habit.id}](#{habit.id}) | {habit.summary} | {', '.join(habit.applies_to)} |\n")
    for habit in all_habits():
        body = habit.page.partition("\n")[2].strip().replace("\n## ", "\n### ").removeprefix("## ")
        found.append(f"\n## {habit.id}\n\n{habit.summary}.\n\n### {body}\n")
    return "".join(found)


def _promises() -> str:
    found = [PROMISES]
    for path in sorted(LIBRARIES.glob("*.toml")):
        rows = tomllib.loads(path.read_text(encoding="utf-8"))
        lines = [_line(row) for kind in ("promise", "attribute") for row in rows.get(kind, ())]
        if lines:
            found.append(f"\n## {path.stem}\n\n| name | gives | device | grad | source |\n|---|---|---|---|---|\n")
            found += lines
    return "".join(found)


def _measured() -> str:
    found: list[str] = [MEASURED]
    others: list[str] = []
    taking: list[str] = []
    by_hand: list[str] = []
    for path in sorted(SINKS.glob("*.json"), key=lambda path: path.stem.lower()):
        table = json.loads(path.read_text(encoding="utf-8"))
        if not table["counts"]["accept"]:
            continue  # see _unmeasured
        counts = [table["counts"].get(name, 0) for name in COUNTS]
        late = sum("^" in "".join(entry) for entry in table["functions"].values() if isinstance(entry, list))
        row = [path.stem, table["measured"], *counts, late, len(table.get("others", ())), len(table.get("takes", ()))]
        found.append(f"| {' | '.join(map(str, row))} |\n")
        for name, entry in table.get("others", {}).items():
            told = {" ".join(text.split()[0::2][:2]) for text in entry}  # whatever holds the tensor
            places = ", ".join(f"`{each}`" for each in sorted(told))
            others.append(f"| {path.stem} | `{name}` | {places} |\n")
        if table.get("takes"):
            taking.append(f"| {path.stem} | {', '.join(f'`{name}`' for name in table['takes'])} |\n")
        if "by hand" in table:
            by_hand.append(f"| {path.stem} | {table['by hand']} |\n")
    return "".join((*found, OTHERS, *others, TAKING, *taking, BY_HAND, *by_hand, UNMEASURED, *_unmeasured()))


def _unmeasured() -> Iterator[str]:
    """Those that were tried in vain, and those that were not tried."""
    reasons: dict[str, str] = tomllib.loads((TRIALS / "not_measured.toml").read_text("utf-8"))
    for path in SINKS.glob("*.json"):
        counts = json.loads(path.read_text(encoding="utf-8"))["counts"]
        if not counts["accept"]:
            reasons[path.stem] = f"of {counts['tried']} callables none took an array in what was tried"
    for name in sorted(reasons, key=str.lower):
        yield f"| {name} | {reasons[name]} |\n"


def _silent() -> str:
    table = json.loads(TAKEN.read_text(encoding="utf-8"))
    found = [SILENT, f"Measured with {table['measured']}; functions of other libraries with the versions", " that "]
    found += ["[their tables](sinks.md) name.\n", WORDS]
    for library, rows in table["operations"].items():
        for text, row in rows.items():
            told, _, objects = row.rstrip(")").partition(" (")
            found.append(f"| {library} | `{text}` | {told} | {objects} |\n")
    found.append("\n| function | parameter, and what comes out |\n|---|---|\n")
    found += [
        f"| `{name}` | {'; '.join(f'`{each}`' for each in places)} |\n" for name, places in table["functions"].items()
    ]
    copies = tomllib.loads(COPIES.read_text(encoding="utf-8"))
    found.append("\n## Copies that have not arrived (TNP204)\n\n")
    found.append(
        f"How often of {copies['of']} times what was read was wrong, while the GPU still computed what is copied\n"
    )
    found.append(f"({copies['measured']}).\n\n| copy | then | wrong |\n|---|---|---|\n")
    found += [f"| {way['copy']} | {way['next']} | {way['wrong']} |\n" for way in copies["way"]]
    return "".join(found)


def _line(row: dict[str, Any]) -> str:
    names = row["name"] if isinstance(row["name"], list) else [row["name"]]
    returns = row["returns"] if isinstance(row["returns"], list) else [row["returns"]]
    gives = ", ".join(f"`{each}`" for each in returns)
    device, grad = row.get("device", "unknown"), row.get("grad", "unknown")
    source = row.get("source", "")
    link = f"[document]({source})" if source.startswith("http") else source
    called = ", ".join(f"`{name}`" for name in names)
    return f"| {called} | {gives} | {device} | {grad} | {link} |\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="name the pages that differ, exit 1 if there are any")
    check = parser.parse_args().check
    wanted = pages()
    present = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    differing = sorted(path for path in {*wanted, *present} if wanted.get(path) != present.get(path))
    for path in differing:
        print(path.relative_to(ROOT))
        if check:
            continue
        if path in wanted:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
