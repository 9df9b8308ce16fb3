"""`check --diff-base REV` reports what stands on changed lines alone, and a repository's configuration runs nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from test_untrusted import TRAPS, Trap

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import RunTonumpy

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")

HEAD = "import torch\n\n\ndef f(x: torch.Tensor):\n"
OLD = HEAD + "    a = x.numpy()\n    b = x.cpu().numpy()\n    return a, b\n"
IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"]


def git(folder: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *IDENTITY, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit of old findings on `main`."""
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    (tmp_path / "a.py").write_text(OLD)
    (tmp_path / "b.py").write_text(OLD)
    commit(tmp_path)
    return tmp_path


def found(run_tonumpy: RunTonumpy, *options: str) -> list[tuple[str, int]]:
    result = run_tonumpy("check", "--output-format", "json", *options)
    assert result.err == "", result.err
    entries = json.loads(result.out)
    assert result.code == (1 if entries else 0)
    return [(os.path.basename(each["filename"]), each["location"]["row"]) for each in entries]


def test_only_what_is_on_a_changed_line(run_tonumpy: RunTonumpy, repository: Path) -> None:
    assert found(run_tonumpy, "--diff-base", "HEAD") == []
    assert run_tonumpy("check", "--diff-base", "HEAD").out == "No new findings, 4 on unchanged lines.\n"
    text = "\n" + OLD.replace("    return", "    c = x.detach().numpy()\n    return")
    (repository / "a.py").write_text(text)
    (repository / "new.py").write_text(OLD)
    changed = [("a.py", 8), ("new.py", 5), ("new.py", 6)]
    for revision in ("HEAD", "main", "@", "refs/heads/main", git(repository, "rev-parse", "--short", "HEAD").strip()):
        assert found(run_tonumpy, "--diff-base", revision) == changed
    told = run_tonumpy("check", "--diff-base", "main").out
    assert "Found 3 findings in 2 files, and 4 on unchanged lines.\n" in told
    git(repository, "checkout", "--quiet", "-b", "topic")
    first = commit(repository)
    assert found(run_tonumpy, "--diff-base", "main") == changed
    assert found(run_tonumpy, "--diff-base", f"{first}~1") == changed
    assert found(run_tonumpy, "--diff-base", first) == []
    git(repository, "tag", "--annotate", "--message", "x", "v1", "main")
    git(repository, "pack-refs", "--all")
    assert found(run_tonumpy, "--diff-base", "v1") == changed
    assert found(run_tonumpy, "--diff-base", "v1", "new.py") == changed[1:]


def test_what_others_have_changed_since_is_not_new(run_tonumpy: RunTonumpy, repository: Path) -> None:
    """The branch is compared with where it has left the other."""
    git(repository, "checkout", "--quiet", "-b", "topic")
    (repository / "a.py").write_text(OLD + "\n\ndef g(x: torch.Tensor):\n    return x.numpy()\n")
    commit(repository)
    git(repository, "checkout", "--quiet", "main")
    (repository / "b.py").write_text(HEAD + "    return x\n")
    commit(repository)
    git(repository, "checkout", "--quiet", "topic")
    assert found(run_tonumpy, "--diff-base", "main") == [("a.py", 11)]


def test_a_renamed_file_and_other_line_ends_are_no_change(run_tonumpy: RunTonumpy, repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "a.py").rename(repository / "sub" / "c.py")
    (repository / "b.py").write_bytes(OLD.replace("\n", "\r\n").encode())
    commit(repository)
    assert found(run_tonumpy, "--diff-base", "HEAD~1") == []
    for folder in ("sub", "."):
        git(repository, "config", "core.worktree", "/nowhere")  # is not read
        assert found(run_tonumpy, "--diff-base", "HEAD~1", folder) == []


def test_a_notebook(run_tonumpy: RunTonumpy, repository: Path) -> None:
    from test_notebooks import FLAGGED, notebook

    (repository / "n.ipynb").write_text(notebook(f"a = {FLAGGED}"))
    commit(repository)
    (repository / "n.ipynb").write_text(notebook(f"a = {FLAGGED}", f"b = {FLAGGED}"))
    entries = json.loads(run_tonumpy("check", "--output-format", "json", "--diff-base", "HEAD").out)
    assert [each["cell"] for each in entries] == [3]


def test_standard_input_and_a_baseline(run_tonumpy: RunTonumpy, repository: Path) -> None:
    text = (OLD + "\n\ndef g(x: torch.Tensor):\n    return x.numpy()\n").encode()
    options = ("check", "--diff-base", "HEAD", "--output-format", "json")
    result = run_tonumpy(*options, "--stdin-filename", "a.py", stdin=text)
    assert [each["location"]["row"] for each in json.loads(result.out)] == [11]
    (repository / "a.py").write_bytes(text)
    run_tonumpy("baseline", "write", "b.py")
    told = run_tonumpy("check", "--diff-base", "HEAD", "--baseline", "tonumpy-baseline.json").out
    assert "Found 1 finding in 1 file, and 2 in the baseline and 2 on unchanged lines.\n" in told


def test_a_file_that_was_moved_and_not_committed(run_tonumpy: RunTonumpy, repository: Path) -> None:
    (repository / "deep").mkdir()
    git(repository, "mv", "a.py", "deep/c.py")
    assert found(run_tonumpy, "--diff-base", "HEAD") == []
    (repository / "deep" / "c.py").write_text(OLD + "\n\ndef g(x: torch.Tensor):\n    return x.numpy()\n")
    (repository / "new.py").write_text("import torch\n\n\ndef other(y: torch.Tensor):\n    return [y.numpy()]\n" * 3)
    os.rename(repository / "b.py", repository / "d.py")  # git knows nothing of it
    places = [("c.py", 11), ("new.py", 5), ("new.py", 10), ("new.py", 15)]
    assert found(run_tonumpy, "--diff-base", "HEAD") == places
    commit(repository)
    git(repository, "mv", "d.py", "e.py")
    assert found(run_tonumpy, "--diff-base", "HEAD~1") == places


def test_fix_repairs_changed_lines_alone(run_tonumpy: RunTonumpy, repository: Path) -> None:
    new = OLD + "\n\ndef g(x: torch.Tensor):\n    return x.numpy()\n"
    (repository / "a.py").write_text(new)
    result = run_tonumpy("fix", "--diff-base", "HEAD", "a.py")
    assert (result.code, result.out) == (0, "Fixed 1 finding in 1 file; left alone: 2 on unchanged lines.\n")
    assert (repository / "a.py").read_text() == OLD + new[len(OLD) :].replace("x.numpy", "x.detach().cpu().numpy")
    assert run_tonumpy("fix", "--diff-base", "nowhere").code == 2


def test_a_shallow_clone_and_a_linked_work_tree(run_tonumpy: RunTonumpy, repository: Path, tmp_path: Path) -> None:
    (repository / "a.py").write_text(OLD + "\n\ndef g(x: torch.Tensor):\n    return x.numpy()\n")
    commit(repository)
    git(repository, "worktree", "add", "--quiet", "tree", "main~1")
    assert len(found(run_tonumpy, "--diff-base", "main", "tree")) == 4  # nothing is known of another work tree
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.as_uri(), "clone")
    command = [sys.executable, "-m", "tonumpy", "check", "--diff-base", "HEAD"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "No new findings, 5 on unchanged lines.\n")


@pytest.mark.parametrize(
    ("revision", "told"),
    [
        ("gone", "there is no branch, tag or commit `gone`"),
        ("--output=x", "there is no branch, tag or commit `--output=x`"),
        ("main:a.py", "there is no branch, tag or commit `main:a.py`"),
        ("", ""),
        ("deadbeef", ""),
        ("../../../etc/passwd", "there is no branch, tag or commit"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_is_no_commit_is_an_error(run_tonumpy: RunTonumpy, tmp_path: Path, revision: str, told: str) -> None:
    result = run_tonumpy("check", f"--diff-base={revision}")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    named = f"--diff-base {revision}: {told}" if revision else "--diff-base: no commit is named"
    assert result.err.startswith(f"tonumpy: error: {named}"), result.err
    assert not (tmp_path / "x").exists()


def test_without_a_repository_or_git(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(OLD)
    result = run_tonumpy("check", "--diff-base", "HEAD")
    assert (result.code, "the current folder is in no git repository" in result.err) == (2, True)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    result = run_tonumpy("check", "--diff-base", "HEAD", PATH="")
    assert (result.code, result.err) == (2, "tonumpy: error: --diff-base HEAD: git is not installed\n")
    assert run_tonumpy("check", "--add-noqa", "--diff-base", "HEAD").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("lay", TRAPS, ids=lambda lay: lay.__name__)
def test_a_repository_runs_nothing(lay: Callable[[Trap], Callable[[], None] | None], tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    trap.git("commit", "-m", "x")
    spring = lay(trap)
    if spring is not None:
        spring()
    trap.marker.unlink(missing_ok=True)
    (trap.repository / "m.py").write_text("import torch\n\n\ndef new(x: torch.Tensor):\n    return x.numpy()\n")
    command = [sys.executable, "-m", "tonumpy", "check", "--diff-base", "HEAD", "--output-format", "json"]
    done = subprocess.run(command, cwd=trap.repository, capture_output=True, text=True)
    assert ([each["code"] for each in json.loads(done.stdout)], done.stderr) == (["TNP101"], "")
    assert not trap.marker.exists()
