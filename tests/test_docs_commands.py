"""Every command and every configuration that README.md and the pages of docs/ show is run as it stands, in a project
that has the files they name. A word in capitals, which a reader replaces, is replaced here."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from readme import ROOT
from test_diff_base import commit, git

from tonumpy.config import Configuration

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)

# What stands for a word of the reader's own.
REPLACED = {
    "[PATH...]": "src",
    "FILE:ROW": "src/module.py:5",
    "LEVEL": "high",
    "REV": "main",
    "origin/${{ github.base_ref }}": "main",
}
# Run elsewhere, as the page shows them, with their output.
RUN_BY_OTHER_TESTS = ("tonumpy rehearse", "tonumpy sweep", "tonumpy check --observed", "tonumpy why convert.py")
# What does not end by itself, or writes to a reader's home.
NOT_RUN = ("tonumpy server", "tonumpy --print-completion")

MODULE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"


def _commands(page: str) -> list[str]:
    """Those in blocks of a shell or of a workflow, and those in a line of text."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"`(tonumpy [^`\n]+)`", _BLOCK.sub("", text))
    for _, language, body in _BLOCK.findall(text):
        for line in body.splitlines():
            words = line.strip().removeprefix("- ").removeprefix("run: ").removeprefix("$ ")
            if language in ("sh", "yaml", "text") and words.startswith("tonumpy "):
                found.append(words)
    found = [each for each in found if len(each.split()) > 2 or each.split()[1] in ("check", "fix", "rules", "habits")]
    return [each for each in found if not each.startswith((*RUN_BY_OTHER_TESTS, *NOT_RUN))]


def _tables(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [body for _, language, body in _BLOCK.findall(text) if language == "toml" and "[tool.tonumpy" in body]


COMMANDS = sorted({command: page for page in PAGES for command in _commands(page)}.items())
TABLES = [(table, page) for page in PAGES for table in _tables(page)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with all that the pages name, on a branch that has left main."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("src/module.py", "examples/embed.py", "tests/test_module.py", "mylib/__init__.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(MODULE)
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    (folder / "tools").mkdir()
    (folder / "tools" / "tonumpy.toml").write_text("[tool.tonumpy]\nstrict = true\n")
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, "source": source}
        for source in ("import torch\n", "print()\n", "y: torch.Tensor = torch.rand(3)\ny.numpy()\n")
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "train.ipynb").write_text(json.dumps(notebook))
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder)
    git(folder, "checkout", "--quiet", "-b", "feature")
    return folder


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
@pytest.mark.parametrize(("command", "page"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_of_a_page_runs(command: str, page: str, project: Path, tmp_path: Path) -> None:
    for word, own in REPLACED.items():
        command = command.replace(word, own)
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    if "--baseline" in command:
        (tmp_path / "tonumpy-baseline.json").write_text('{"version": 1, "findings": []}')
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    first = command.partition(" | ")[0]
    done = subprocess.run(
        ["sh", "-c", first], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    findings = shlex.split(first)[1] in ("check", "fix")
    assert done.returncode in ((0, 1) if findings else (0,)), f"{page}: {command}\n{done.stderr}"
    assert "error" not in done.stderr.lower(), f"{page}: {command}\n{done.stderr}"


@pytest.mark.parametrize(("table", "page"), TABLES, ids=[page for _, page in TABLES])
def test_a_configuration_of_a_page_is_taken(table: str, page: str, project: Path, tmp_path: Path) -> None:
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    (tmp_path / "pyproject.toml").write_text(table)
    settings = Configuration().settings_of(str(tmp_path / "src" / "module.py"))
    assert settings != Configuration(isolated=True).settings_of("src/module.py"), f"{page}: changes nothing"


def test_commands_and_configurations_are_found() -> None:
    """So that no other way to write them down leaves the tests above with nothing to do."""
    assert len(COMMANDS) >= 20
    assert {page for _, page in TABLES} >= {"README.md", "docs/configuration.md", "docs/false-alarms.md"}
