"""Writes docs/rules from the rules' own docstrings; with --check, writes nothing and names the pages that differ."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tonumpy.rules import Rule, all_rules

FOLDER = Path(__file__).parent.parent / "docs" / "rules"

INDEX = """\
# The rules

These pages are the rules' own docstrings (`tonumpy explain TNP101`), written by `python scripts/write_rule_pages.py`.

| code | name | by default | what it finds |
|---|---|---|---|
"""

FOOTER = """\

## If it is a false alarm

An assertion, an annotation, a promise, `# noqa: {code}`, or leaving it out: [the ways out](../false-alarms.md).
"""


def _default(rule: Rule) -> str:
    return "preview" if rule.is_preview else "on" if rule.on_by_default else "off"


def pages() -> dict[Path, str]:
    """Return what the folder should hold."""
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {_default(rule)} | {rule.summary} |\n" for rule in all_rules()
    ]
    found = {FOLDER / f"{rule.code}.md": f"{rule.page}\n{FOOTER.format(code=rule.code)}" for rule in all_rules()}
    return {FOLDER / "README.md": INDEX + "".join(rows), **found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="name the pages that differ, exit 1 if there are any")
    check = parser.parse_args().check
    wanted = pages()
    present = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    differing = sorted(path for path in {*wanted, *present} if wanted.get(path) != present.get(path))
    for path in differing:
        print(path.relative_to(FOLDER.parent.parent))
        if check:
            continue
        if path in wanted:
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
