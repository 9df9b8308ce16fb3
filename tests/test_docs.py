"""The rules' pages: each is its rule's docstring, and its examples are what rule and repair make of them.

The pages about inference: their examples say what is found in them, as fixtures do.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import test_libraries
import yaml
from fixture_format import Expected, read_fixture
from reveal import expected_words, revealed, words_by_row

from tonumpy import check_source, fix_source
from tonumpy.rules import Rule, all_rules
from tonumpy.text.source import Source

ROOT = Path(__file__).parent.parent
HEADINGS = ["What it does", "Why is this bad", "Example", "Use instead", "Fix safety"]

each_rule = pytest.mark.parametrize("rule", all_rules(), ids=[rule.code for rule in all_rules()])


def sections(rule: Rule) -> dict[str, str]:
    """The text under each heading of a page."""
    _, *parts = re.split(r"^## (.+)\n", rule.page, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def code_block(section: str) -> str:
    (block,) = re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    return str(block)


def test_the_pages_are_up_to_date() -> None:
    script = "scripts/write_rule_pages.py"
    run = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, cwd=ROOT)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", ""), f"python {script} brings them up to date"


def test_no_two_pages_have_one_title() -> None:
    """Which is what a menu shows of most."""
    pages = (ROOT / "docs").rglob("*.md")
    titles = Counter(path.read_text("utf-8").partition("\n")[0].removeprefix("# ") for path in pages)
    assert [title for title, count in titles.items() if count > 1] == []


def test_the_menu_names_each_page_once_and_each_rule_shortly() -> None:
    pytest.importorskip("mkdocs")
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import docs_hooks
    finally:
        sys.path.pop(0)
    config = SimpleNamespace(**yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8")))
    config.docs_dir = str(ROOT / "docs")
    menu = str(docs_hooks.on_config(config).nav)
    named = Counter(re.findall(r"[\w/-]+\.md", menu))
    here = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert (set(named), set(named.values())) == (here | {*docs_hooks.BESIDE.values(), docs_hooks.HABITS}, {1})
    assert menu.index("configuration.md") < menu.index("rules/")
    labels = re.findall(r"'(TNP\d+ [^']*)'", menu)
    assert len(labels) == len(all_rules())
    assert max(map(len, labels)) < 40


@each_rule
def test_a_page_has_its_headings(rule: Rule) -> None:
    assert list(sections(rule)) == HEADINGS
    assert rule.page.startswith("# ")
    assert f"({rule.code})\n" in rule.page


@each_rule
def test_the_example_is_flagged(rule: Rule) -> None:
    example = code_block(sections(rule)["Example"])
    expected = [] if rule.judges == ("runs",) else [rule.code]  # of those tests/test_mixed_devices.py runs the example
    assert [finding.code for finding in check_source(example, select=[rule.code])] == expected


@each_rule
def test_the_fix_makes_of_the_example_what_to_use_instead(rule: Rule) -> None:
    found = sections(rule)
    example = code_block(found["Example"])
    fix = next((finding.fix for finding in check_source(example, select=[rule.code])), None)
    if fix is None:
        assert found["Fix safety"].lstrip().startswith("There is no fix")
    else:
        assert found["Fix safety"].lstrip().startswith(fix.applicability.capitalize()) or fix.applicability == "safe"
        fixed = fix_source(example, select=[rule.code], unsafe=fix.applicability == "unsafe")
        assert fixed == code_block(found["Use instead"])


@each_rule
def test_what_to_use_instead_is_silent(rule: Rule) -> None:
    assert check_source(code_block(sections(rule)["Use instead"]), strict=True) == []


INFERENCE = {name: (ROOT / "docs" / name).read_text("utf-8") for name in ("inference.md",)}
LIBRARY_ROWS = (ROOT / "docs" / "dev" / "library-rows.md").read_text("utf-8")
EXAMPLES = [
    pytest.param(match[1], id=f"{name}:{text.count(chr(10), 0, match.start()) + 1}")
    for name, text in INFERENCE.items()
    for match in re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_inference_says_what_is_found(example: str, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(example, "utf-8")
    found = [
        Expected(*each.start, each.code, each.fix.applicability if each.fix else "display-only")
        for each in check_source(example)
    ]
    assert sorted(found) == read_fixture(path).expected
    words = words_by_row(revealed(Source.from_text(example, "example.py")))
    assert expected_words(example).items() <= words.items()


def test_the_rows_of_libraries_are_described() -> None:
    described = set(re.findall(r"`([^`\n]+)`", LIBRARY_ROWS))
    for kind, keys in test_libraries.KEYS.items():
        (row,) = re.findall(rf"^\| `{kind}` \| (.+?) \|", LIBRARY_ROWS, flags=re.MULTILINE)
        assert set(re.findall(r"`(\w+)`", row)) == keys
    assert test_libraries.words_of("Where") | test_libraries.words_of("Whether") <= described
    returns = {re.split(r"[ :(]", word)[0] for word in described}
    assert set(re.findall(r"[a-z]+", test_libraries.RETURNS.pattern.partition(":")[0])) <= returns
