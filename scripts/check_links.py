"""The links of the documents: each must lead to a file that is there and, with `#`, to a heading in it.

    python scripts/check_links.py             what stands in the repository; asks no network
    python scripts/check_links.py --external  pages elsewhere, too

A page elsewhere is reached if it answers with any code below 400. One that wants no robots (403, 429, 999) or has
trouble of its own (500 and above) is named and not held against the link. The exit code is 1 if a link leads nowhere.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
TRIES, TIME_LIMIT = 3, 20.0
UNDECIDED = (403, 429, 999)

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


def answer_of(url: str) -> int | str:
    """The code with which a page answers, or why there is none."""
    found: int | str = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(attempt)
        request = urllib.request.Request(url, headers={"User-Agent": "check_links"})
        try:
            with urllib.request.urlopen(request, timeout=TIME_LIMIT) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            found = error.code
            if found < 500 and found != 429:
                return found
        except (OSError, ValueError) as error:
            found = str(getattr(error, "reason", error))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--external", action="store_true", help="ask for pages elsewhere, too")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder of the documents")
    arguments = parser.parse_args()
    links = [link for page in pages(arguments.root) for link in links_of(page)]
    elsewhere = [link for link in links if re.match(r"https?:", link.target)]
    inside = [link for link in links if not re.match(r"\w+:", link.target)]
    broken = [(link, reason) for link in inside if (reason := why_broken(link))]
    if arguments.external:
        urls = sorted({link.target for link in elsewhere})
        with ThreadPoolExecutor(8) as pool:
            answers = dict(zip(urls, pool.map(answer_of, urls), strict=True))
        for link in elsewhere:
            answer = answers[link.target]
            if isinstance(answer, int) and (answer in UNDECIDED or answer >= 500):
                print(f"{link.page.relative_to(arguments.root)}:{link.row}: {link.target}: not known, answers {answer}")
            elif isinstance(answer, str) or answer >= 400:
                broken.append((link, f"answers {answer}" if isinstance(answer, int) else answer))
    for link, reason in broken:
        print(f"{link.page.relative_to(arguments.root)}:{link.row}: {link.target or link.page.name}: {reason}")
    asked = len(inside) + (len(elsewhere) if arguments.external else 0)
    print(f"{asked} links followed, {len(broken)} lead nowhere")
    return 1 if broken or not asked else 0


if __name__ == "__main__":
    sys.exit(main())
