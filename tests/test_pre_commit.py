"""The hooks through real pre-commit, which clones the repository and installs it in an environment of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fixture_format import FOLDER
from readme import ROOT, block

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")

FLAGGED = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
FIXED = FLAGGED.replace("x.numpy()", "x.detach().cpu().numpy()")
NOTEBOOK = (FOLDER / "notebooks" / "one_string.ipynb").read_text()
IDENTITY = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false"]


def git(folder: Path, *arguments: str) -> str:
    # the variables that git sets for its own hooks would name another repository
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *IDENTITY, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This working tree as a repository with one commit, so that what is tested is what stands here."""
    folder = tmp_path_factory.mktemp("repository")
    for name in git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "As it stands")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Somebody's repository, with a module that the hooks object to and a text that is none of their business."""
    (tmp_path / "module.py").write_text(FLAGGED)
    (tmp_path / "train.ipynb").write_text(NOTEBOOK)
    (tmp_path / "notes.txt").write_text("x.numpy()\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    return tmp_path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit")


def pre_commit(folder: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [sys.executable, "-m", "pre_commit", *arguments, "--color=never"]
    return subprocess.run(
        command, cwd=folder, env={**environment, "PRE_COMMIT_HOME": str(home)}, capture_output=True, text=True
    )


def test_try_repo(repository: Path, project: Path, home: Path) -> None:
    run = pre_commit(project, home, "try-repo", str(repository), "--all-files", "--verbose")
    assert run.returncode == 1, run.stdout + run.stderr
    report, repair = re.split(r"^tonumpy fix\.+", run.stdout, maxsplit=1, flags=re.MULTILINE)
    assert re.search(r"^tonumpy\.+Failed$", report, flags=re.MULTILINE)
    assert "module.py:5:14: TNP101" in report
    assert "train.ipynb:cell 2:1:19: TNP101" in report
    assert "exit code: 1" in report
    assert "files were modified by this hook" not in report
    assert repair.startswith("Failed\n")
    assert "files were modified by this hook" in repair
    assert "module.py:5:14: fixed TNP101: Add `.detach().cpu()`\n" in repair
    assert "train.ipynb:cell 2:1:19: fixed TNP101: Add `.detach().cpu()`\n" in repair
    assert (project / "module.py").read_text() == FIXED
    assert (project / "train.ipynb").read_text() == (FOLDER / "notebooks" / "one_string.fixed.ipynb").read_text()
    assert (project / "notes.txt").read_text() == "x.numpy()\n"


LEFT = "import torch\n\n\ndef f(x):\n    return x.numpy(), torch\n"


@pytest.mark.slow
def test_the_configuration_in_the_readme(repository: Path, project: Path, home: Path) -> None:
    """It names no commit: `autoupdate` does. What is repaired and what is left are each told once, with no warning."""
    (project / "left.py").write_text(LEFT)
    configuration = re.sub(r"repo: \S+", f"repo: {repository}", block("pre-commit"))
    (project / ".pre-commit-config.yaml").write_text(configuration)
    git(project, "add", "--all")
    update = pre_commit(project, home, "autoupdate")
    assert update.returncode == 0, update.stdout + update.stderr
    commit = git(repository, "rev-parse", "HEAD").strip()
    assert f"rev: {commit}" in (project / ".pre-commit-config.yaml").read_text()
    git(project, "add", "--all")
    first = pre_commit(project, home, "run", "--all-files")
    assert re.findall(r"^tonumpy.*?\.+(Passed|Failed)$", first.stdout, flags=re.MULTILINE) == ["Failed"]
    assert first.stdout.count("module.py:5:14: ") == 1  # what it repairs
    assert (project / "module.py").read_text() == FIXED
    again = pre_commit(project, home, "run", "--all-files")
    for run in (first, again):
        assert (run.returncode, run.stderr) == (1, "")
        assert run.stdout.count("left.py:5:14: TNP101 ") == 1  # what is left
        assert "WARNING" not in run.stdout
    (project / "left.py").unlink()
    git(project, "add", "--all")
    assert pre_commit(project, home, "run", "--all-files").returncode == 0
