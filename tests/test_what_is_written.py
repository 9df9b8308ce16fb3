"""What each command with each option writes: only `fix` and what is asked for by name, only files of the project."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from foreign_tree import OWN, git, make_tree, put, snapshot, touched

from tonumpy.cli.cli_arguments import _COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")

_SELECTION = (
    "--select TNP1 --extend-select TNP2 --ignore TNP201 --per-file-ignores x.py:TNP1 --preview --no-preview --strict"
    " --no-strict --links both"
)
_FILES = "--exclude gone --extend-exclude gone2 --force-exclude --no-force-exclude"
_RUN = "--config style='force' --isolated --color never"
_ALL = f"{_FILES} {_SELECTION} --confidence low {_RUN} --jobs 1 --no-cache --quiet"
# A command line and the files that it may write.
READING = {
    f"check {_ALL} --output-format json --exit-zero --show-evidence --verbose": (),
    "check --output-file report.txt": ("report.txt",),
    "check --statistics --diff-base HEAD": (),
    "check --show-files": (),
    "check --show-settings": (),
    "check --stdin-filename main.py -": (),
    "check --observed seen.json": (),
    "check --cache-dir kept": ("kept/",),
    f"fix {_ALL} --diff --unsafe-fixes --no-unsafe-fixes --style links --show-fixes --output-format json": (),
    "fix --diff --diff-base HEAD": (),
    "fix --stdin-filename main.py -": (),
    f"baseline write {_ALL} --baseline known.json": ("known.json",),
    "check --baseline known.json": (),
    "fix --baseline known.json": (),
    "why main.py:5 --confidence low": (),
    "explain TNP101": (),
    "rules --output-format json": (),
    "habits": (),
    "clean --cache-dir kept": ("kept/",),
}
WRITING = ("check --add-noqa", "fix", "fix --fix-baselined --baseline known.json --output-file report.txt")
ELSEWHERE = {  # these have tests of their own, or end the run
    "check": {"--watch", "--add-noqa", "--help", "-h"},
    "fix": {"--fix-baselined", "--verbose", "--observed", "--cache-dir", "--output-file"},
    "baseline": {"--verbose", "--observed", "--cache-dir", "--stdin-filename"},
    "why": {"--observed"},
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a repository, a submodule and a linked work tree in it, and links to these and to what is outside."""
    top = tmp_path_factory.mktemp("everything")
    other, outside = top / "other", top / "outside"
    for folder in (other, outside):
        put(folder, "b.py")
    git(other, "init", "-q")
    git(other, "add", ".")
    git(other, "commit", "-qm", "x")
    here = top / "here"
    here.mkdir()
    make_tree(here, in_git=True, is_ignored=False)
    git(here, "submodule", "add", "-q", str(other), "extern/sub")
    git(here, "worktree", "add", "-q", "-b", "topic", "wt")
    git(here, "clone", "-q", str(other), "nested")
    put(here, ".ruff_cache/c.py")
    os.symlink("../outside/b.py", here / "out.py")
    os.symlink("../outside", here / "out_folder")
    os.symlink("extern/sub/b.py", here / "into_submodule.py")
    os.symlink("main.py", here / "again.py")
    put(here, "seen.json", '{"version": 1, "sites": []}')
    return top


def run(top: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "TONUMPY_NO_CACHE": "", "XDG_CACHE_HOME": str(top.parent / "own")}
    command = [sys.executable, "-m", "tonumpy", *line.split()]
    return subprocess.run(command, cwd=top / "here", env=environment, input=b"x = 1\n", capture_output=True)


@pytest.mark.slow
def test_only_fix_writes_and_only_into_the_project(tree: Path) -> None:
    before = snapshot(tree)
    for line, allowed in READING.items():
        done = run(tree, line)
        assert b"Traceback" not in done.stderr, done.stderr
        after = snapshot(tree)
        written = {name.removeprefix("here/") for name in touched(before, after)}
        strange = {name for name in written if not name.startswith(allowed or ("\0",))}
        assert strange == set(), line
        before = after
    for line in WRITING:
        for name in OWN:
            put(tree / "here", name, "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda().numpy()\n")
        before = snapshot(tree)
        done = run(tree, f"{line} --no-cache")
        assert b"left as it is; to repair it, name it" in done.stderr
        after = snapshot(tree)
        assert touched(before, after) - {"here/report.txt"} == {f"here/{name}" for name in OWN}, line


@pytest.mark.parametrize("command", ["check", "fix", "baseline", "why"])
def test_every_option_is_among_them(command: str) -> None:
    parser = argparse.ArgumentParser()
    _COMMANDS[command][1](parser)
    options = {each for action in parser._actions for each in action.option_strings if each.startswith("--")}
    given = {word for line in (*READING, *WRITING) if line.split()[0] == command for word in line.split()}
    shared = {word for line in READING for word in line.split()} if command == "why" else set()
    assert options - given - shared - {"--help"} <= ELSEWHERE[command]
