"""What mkdocs asks for: the pages that stand beside docs/ in, and all links as they lead in the site out.

README.md is the first page. A link to a file that is no page leads to the repository.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
BESIDE = {"README.md": "index.md", "CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md"}
HABITS = "habits.md"  # made of their docstrings when the site is built
_OF_API = re.compile(r"^- .*<!-- (tonumpy\.[\w.]+) -->$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A rule's page, or another that is new, is in the navigation without being named there."""
    docs = Path(config.docs_dir)
    rules = [{"All rules": "rules/README.md"}, *({_label(path): f"rules/{path.name}"} for path in _rule_pages(docs))]
    assert config.nav is not None
    named = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    (use,) = [entry["Use"] for entry in config.nav if "Use" in entry]
    use += sorted(path.name for path in docs.glob("*.md") if path.name not in named)
    config.nav.insert(3, {"Rules": rules})
    config.nav.insert(4, {"Habits": HABITS})
    return config


def _rule_pages(docs: Path) -> list[Path]:
    return sorted(path for path in docs.glob("rules/*.md") if path.name != "README.md")


def _label(page: Path) -> str:
    """A code and a name, as `tonumpy rules` lists them: a title is too long for a menu."""
    return f"{page.stem} {names()[page.stem]}"


def names() -> dict[str, str]:
    """The rules' names by their codes, from the list of rules."""
    rows = (ROOT / "docs" / "rules" / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| \[(TNP\d+)\]\(\S+\) \| ([\w-]+) \|", rows, flags=re.MULTILINE))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in BESIDE.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    files.append(File.generated(config, HABITS, content=_habits()))
    return files


def _habits() -> str:
    from tonumpy.engine.knowledge.habits import HABITS

    return "\n\n".join(["# Habits", *(re.sub("^#", "##", habit.page, flags=re.MULTILINE) for habit in HABITS)])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links are written as they lead in the repository, which is where most people read these pages; where a line links
    to a part of the API, the site has its docstring."""
    markdown = _OF_API.sub(r"\n::: \1\n", markdown)
    beside = {there: here for here, there in BESIDE.items()}
    here = beside.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def lead(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), match[1]))
        there = BESIDE.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(there) is None:
            if not (ROOT / target).exists():
                return match[0]  # which the strict build then complains of
            return f"]({config.extra['repository']}/blob/main/{target}{match[2] or ''})"
        return f"]({os.path.relpath(there, posixpath.dirname(page.file.src_uri) or '.')}{match[2] or ''})"

    return _LINK.sub(lead, markdown)
