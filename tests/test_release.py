"""What a release needs: the check of the release workflow, and that every page says the same address."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import metadata

import yaml
from readme import ROOT

REPOSITORY = "https://github.com/tonumpy/tonumpy"


def check_release(tag: str, repository: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/check_release.py", tag, repository]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_release_says_the_version_and_the_address_that_it_has() -> None:
    wrong = check_release("v99.0", "https://github.com/somebody/tonumpy")
    assert wrong.returncode == 1
    assert "the tag is v99.0, and pyproject.toml says version " in wrong.stdout
    for path in ("pyproject.toml", "mkdocs.yml", "src/tonumpy/findings.py"):
        assert f"{path} links to {REPOSITORY}, and this is https://github.com/somebody/tonumpy" in wrong.stdout
    right = check_release(f"v{metadata('tonumpy')['Version']}", REPOSITORY)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert right.returncode == ("(not released yet)" in changes)
    assert "links to" not in right.stdout
    assert "the tag is" not in right.stdout


def test_nothing_tells_to_install_a_name_that_is_on_no_index() -> None:
    """Anybody could put a package of that name there. The checklist names the places that are to be changed then."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if "(not released yet)" not in changes:
        return
    command = re.compile(r"pip install [^\n]*(?<![\w./-])tonumpy(?![\w./-])(?!-)")
    folders = ("docs", "src", "examples", "scripts", "tests", ".github", ".ci")
    found = (*ROOT.iterdir(), *(path for folder in folders for path in (ROOT / folder).rglob("*")))
    pages = {path for path in found if path.suffix in (".md", ".py", ".yml", ".yaml", ".toml", "") and path.is_file()}
    told = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in sorted(pages - {ROOT / "docs" / "dev" / "releasing.md", ROOT / "tests" / "test_release.py"})
        for line in command.findall(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert told == []


def test_the_checklist_names_what_the_workflow_asks_for() -> None:
    page = (ROOT / "docs" / "dev" / "releasing.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    assert f"environment `{workflow['jobs']['publish']['environment']['name']}`" in page
    assert "workflow `release.yml`" in page
    assert workflow[True]["push"]["tags"] == ["v*"]  # `on:` is true in YAML
    for step in workflow["jobs"]["build"]["steps"]:
        for line in re.findall(r"^(?:python -m build|twine check .*)$", step.get("run", ""), flags=re.MULTILINE):
            assert line in page


def test_the_workflow_runs_the_check_and_publishes_without_a_secret() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    jobs = yaml.safe_load(text)["jobs"]
    commands = [step.get("run", "") for step in jobs["build"]["steps"]]
    assert [command for command in commands if "scripts/check_release.py" in command]
    assert jobs["publish"]["permissions"]["id-token"] == "write"


def test_the_page_of_the_package_index_has_no_relative_link() -> None:
    about = metadata("tonumpy")
    page = about.get_payload() or about["Description"]  # whichever reader of metadata was imported first
    assert "](https://github.com/tonumpy/tonumpy/blob/main/docs/rules/README.md)" in page
    assert re.findall(r"\]\((?!https?:)[^)]+\)", page) == []
    assert f"Repository, {REPOSITORY}" in about.get_all("Project-URL", [])


def test_the_readme_names_no_address_of_a_repository_or_a_release_that_is_not_there_yet() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "github.com/tonumpy" not in text
    assert not re.search(r"\bv?0\.\d+\.\d+\b", text)
