"""The links of the documents: each must lead to a file that is there and, with `#`, to a heading in it."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent

_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s#]*)(#[^)\s]*)?\)")
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


class Link(NamedTuple):
    page: Path
    row: int
    target: str
    anchor: str


def pages(root: Path) -> list[Path]:
    return [*sorted(root.glob("*.md")), *sorted(root.glob("docs/**/*.md"))]


def links_of(page: Path) -> Iterator[Link]:
    """The links of a page, other than in code."""
    text = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), page.read_text("utf-8"))
    for match in _LINK.finditer(text):
        yield Link(page, text.count("\n", 0, match.start()) + 1, match[1], (match[2] or "").removeprefix("#"))


def anchors_of(page: Path) -> set[str]:
    """What GitHub and mkdocs name the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title) for title in _HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def why_broken(link: Link) -> str | None:
    target = link.page.parent / link.target if link.target else link.page
    if not target.exists():
        return "there is no such file"
    if link.anchor and target.suffix == ".md" and link.anchor not in anchors_of(target):
        return f"there is no heading `#{link.anchor}`"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder of the documents")
    root = parser.parse_args().root
    links = [link for page in pages(root) for link in links_of(page) if not re.match(r"\w+:", link.target)]
    broken = [(link, reason) for link in links if (reason := why_broken(link))]
    for link, reason in broken:
        print(f"{link.page.relative_to(root)}:{link.row}: {link.target or link.page.name}: {reason}")
    print(f"{len(links)} links followed, {len(broken)} lead nowhere")
    return 1 if broken or not links else 0


if __name__ == "__main__":
    sys.exit(main())
