"""Nothing but the project's own files is repaired: no installed package, no build, no other repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from foreign_tree import FAULT, LAYOUTS, OWN, git, make_tree, put, snapshot, touched
from rehearsal_runs import rehearse

from tonumpy.api import check_paths
from tonumpy.boundary.foreign import lies_in_foreign
from tonumpy.cli.files import is_left_out
from tonumpy.codemod import FixNumpyConversionsCommand
from tonumpy.config import Settings
from tonumpy.engine.names.repository import python_files

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

SHAPES = {
    "no git": {"in_git": False, "is_ignored": False},
    "git without ignore entries": {"in_git": True, "is_ignored": False},
    "git with ignore entries": {"in_git": True, "is_ignored": True},
    "all tracked": {"in_git": True, "is_ignored": True, "is_tracked": True},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_installed_packages_are_left_alone(run_tonumpy: RunTonumpy, tmp_path: Path, shape: str) -> None:
    make_tree(tmp_path, **SHAPES[shape])
    assert run_tonumpy("check", "--show-files").out.split() == sorted(OWN)
    forced = run_tonumpy("fix", "--force-exclude", *LAYOUTS, ".venv", "build", "third_party/odd/site-packages")
    assert (forced.code, forced.err) == (0, "")
    before = snapshot(tmp_path)
    result = run_tonumpy("fix")
    assert (result.code, result.err) == (0, "")
    assert touched(before, snapshot(tmp_path)) == set(OWN)


def test_what_is_named_is_repaired(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    make_tree(tmp_path, in_git=True, is_ignored=True)
    before = snapshot(tmp_path)
    assert "in a folder of installed packages, caches or builds" in run_tonumpy("why", "build/lib/pkg/a.py:5").out
    named = next(iter(LAYOUTS)), "build", "third_party/odd/site-packages", "env/bin"
    result = run_tonumpy("fix", *named)
    assert (result.code, result.err) == (0, "")
    expected = {named[0], "build/lib/pkg/a.py", "third_party/odd/site-packages/a.py", "env/bin/tool.py"}
    assert touched(before, snapshot(tmp_path)) == expected
    # What lies deeper in a folder that was named is left out all the same, as in ruff.
    assert run_tonumpy("check", "--show-files", ".tox", "env").out.split() == ["env/bin/tool.py"]


CALLS_ALL = """\
import importlib.util
import sys

import torch

for number, path in enumerate(sys.argv[1:]):
    spec = importlib.util.spec_from_file_location(f"module_{number}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.f(torch.zeros(2))
"""


@pytest.mark.slow
def test_a_rehearsal_tells_of_own_code_alone(tmp_path: Path) -> None:
    """Of each of its files, though they hold the same code, which Python takes for equal."""
    pytest.importorskip("torch")
    make_tree(tmp_path, in_git=True, is_ignored=False)
    put(tmp_path, "call_all.py", CALLS_ALL)
    done = rehearse(tmp_path, "call_all.py", *OWN, *LAYOUTS)
    told = {os.path.relpath(finding["filename"], tmp_path) for finding in json.loads(done.out)}
    assert told == {*OWN, "call_all.py"}  # by whose call the others fail


def test_standard_input_is_excluded_by_its_name(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    put(tmp_path, "pyproject.toml", '[tool.tonumpy]\nexclude = ["vendor"]\n')
    for name in ("vendor/a.py", ".venv/a.py"):
        given = ("-", "--stdin-filename", name)
        assert run_tonumpy("check", *given, stdin=FAULT.encode()).code == 1
        result = run_tonumpy("check", "--force-exclude", *given, stdin=FAULT.encode())
        assert (result.code, result.out, result.err) == (0, "No files were checked.\n", "")
        result = run_tonumpy("fix", "--force-exclude", *given, stdin=FAULT.encode())
        assert (result.code, result.out) == (0, FAULT)
        assert run_tonumpy("check", "--show-files", "--force-exclude", *given).out == ""


def test_every_face_leaves_them_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tree(tmp_path, in_git=True, is_ignored=False)
    monkeypatch.chdir(tmp_path)
    assert {os.path.relpath(path) for path in python_files(str(tmp_path))} == set(OWN)  # where callers are looked for
    assert {os.path.relpath(each.filename) for each in check_paths(["."]).findings} == set(OWN)
    for path in (*OWN, *LAYOUTS):
        is_own = path in OWN
        assert lies_in_foreign(path) is not is_own, path
        assert is_left_out(str(tmp_path / path), Settings()) is not is_own, path


def test_the_codemod_leaves_them_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from libcst import parse_module
    from libcst.codemod import CodemodContext, SkipFile

    make_tree(tmp_path, in_git=False, is_ignored=False)
    monkeypatch.chdir(tmp_path)
    for path in (*OWN, *LAYOUTS):
        command = FixNumpyConversionsCommand(CodemodContext(filename=path))
        if path in OWN:
            assert ".cpu()" in command.transform_module(parse_module(FAULT)).code
        else:
            with pytest.raises(SkipFile, match="installed packages"):
                command.transform_module(parse_module(FAULT))


def test_a_project_may_lie_in_such_a_folder(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    for top in ("build/project", "venv/lib/site-packages/repository"):
        put(tmp_path, f"{top}/a.py")
        if "repository" in top:
            git(tmp_path / top, "init", "-q")
        done = subprocess.run(
            [sys.executable, "-m", "tonumpy", "check", "-q", "--force-exclude", "a.py", "."],
            cwd=tmp_path / top,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout[:9]) == (1, "a.py:5:21")
    assert run_tonumpy("check", "-q", "--force-exclude", "build/project/a.py").code == 0
