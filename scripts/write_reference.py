"""Writes docs/reference from the habits' pages and the rows about libraries; --check only names what differs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tonumpy.inference.habits import all_habits

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "reference"
LIBRARIES = ROOT / "src" / "tonumpy" / "inference" / "knowledge" / "libraries"

HABITS = """\
# The habits

What people who write torch code mostly mean by a name or a place. No habit is proof: what rests on one alone is shown
with `--confidence low`, and `disable-habits` switches it off. These pages are the habits' own docstrings
(`tonumpy explain habit/NAME`), written by `python scripts/write_reference.py`.

| habit | what it says | asked of |
|---|---|---|
"""

PROMISES = """\
# What libraries promise

The rows of `src/tonumpy/inference/knowledge/libraries`, written by `python scripts/write_reference.py`;
[library-rows.md](../library-rows.md) explains the words. Torch's own operators are not here: what they do is
measured on torch itself.
"""


def pages() -> dict[Path, str]:
    """What the folder should hold."""
    return {FOLDER / "habits.md": _habits(), FOLDER / "libraries.md": _promises()}


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
