"""Which files stand behind the arguments, inside a git repository and outside one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tonumpy.cli.files import find_files
from tonumpy.config import Choices, Configuration
from tonumpy.globs import Exclude, excludes
from tonumpy.setting_values import read_globs

if TYPE_CHECKING:
    from conftest import RunTonumpy


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tree(*names: str) -> None:
    """Make these files, and folders where a name ends with a slash."""
    for name in names:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        if not name.endswith("/"):
            with open(name, "w") as stream:
                stream.write("import torch\n")


def git(*arguments: str, cwd: str = ".") -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True)


def found(*arguments: str, **choices: tuple[Exclude, ...] | bool) -> list[str]:
    result = find_files(arguments or ["."], Configuration(Choices(**choices), isolated=True))  # type: ignore[arg-type]
    assert (result.errors, result.warnings) == ([], [])
    return result.files


def errors(*arguments: str) -> list[str]:
    return [str(error) for error in find_files(arguments, Configuration(isolated=True)).errors]


# outside a repository


def test_folders_are_searched_for_python_files() -> None:
    tree("a.py", "b.pyi", "c.txt", "d.pyc", "pkg/e.py", "pkg/deep/f.py", "empty/")
    assert found() == ["a.py", "b.pyi", "pkg/deep/f.py", "pkg/e.py"]
    assert found("./pkg/") == ["pkg/deep/f.py", "pkg/e.py"]
    assert found(os.path.abspath("pkg")) == [os.path.abspath("pkg/deep/f.py"), os.path.abspath("pkg/e.py")]


def test_a_named_file_that_may_be_python_is_taken_wherever_it_is() -> None:
    tree("script", "window.pyw", "node_modules/x.py")
    with open("tool.cgi", "w") as stream:
        stream.write("#!/usr/bin/env python3\n")
    named = ["node_modules/x.py", "script", "tool.cgi", "window.pyw"]
    assert found(*named) == named


def test_a_named_file_that_is_no_python_is_an_error() -> None:
    tree("notes.txt", "a.py")
    with open("run.sh", "w") as stream:
        stream.write("#!/bin/sh\n")
    assert errors("notes.txt", "a.py", "run.sh") == [
        "notes.txt: not checked: the suffix is neither that of Python nor of a notebook",
        "run.sh: not checked: the suffix is neither that of Python nor of a notebook",
    ]


def test_each_file_is_there_once_in_one_order() -> None:
    tree("a.py", "pkg/b.py")
    assert found("pkg", ".", "a.py", "./a.py", "pkg/../a.py", "pkg/b.py") == ["a.py", "pkg/b.py"]


def test_the_usual_folders_are_skipped_unless_named() -> None:
    usual = [".hg", ".venv", "venv", "node_modules", "build", "dist", "__pycache__", ".tox", ".nox", "site-packages"]
    tree("a.py", *(f"{name}/x.py" for name in usual), "env/pyvenv.cfg", "env/lib/x.py")
    assert found() == ["a.py"]
    assert found("build", "env") == ["build/x.py", "env/lib/x.py"]


def test_links() -> None:
    tree("a.py", "real/b.py")
    os.symlink("a.py", "link.py")
    os.symlink("elsewhere/../a.py", "broken.py")
    os.symlink("loop.py", "loop.py")
    os.symlink("real", "folder_link")
    os.symlink("real", "folder_link.py")
    # A link to a file that is there anyway is no second file; those that lead nowhere are reported when they are read.
    assert found() == ["a.py", "broken.py", "loop.py", "real/b.py"]
    assert found("link.py") == ["link.py"]
    assert found("folder_link") == ["folder_link/b.py"]


def test_a_loop_of_folders_ends() -> None:
    tree("pkg/a.py")
    os.symlink("..", "pkg/up")
    assert found() == ["pkg/a.py"]


def test_a_pipe_in_a_folder_is_not_waited_for() -> None:
    tree("a.py")
    os.mkfifo("pipe.py")
    assert found() == ["a.py"]


def test_paths_that_lead_nowhere() -> None:
    tree("a.py")
    assert errors("a.py", "gone.py", "gone/") == [
        "gone.py: No such file or directory",
        "gone: No such file or directory",
    ]


def test_a_folder_that_vanishes_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.py", "pkg/b.py")
    scandir = os.scandir

    def scan_and_remove(path: str) -> object:
        if path == "pkg":
            os.rename("pkg", "moved")
        return scandir(path)

    monkeypatch.setattr("tonumpy.cli.files.os.scandir", scan_and_remove)
    result = find_files(["."], Configuration(isolated=True))
    assert [str(error) for error in result.errors] == ["pkg: No such file or directory"]
    assert result.files == ["a.py"]


# inside a repository


@pytest.fixture
def repository(here: Path) -> Path:
    git("init", "-q")
    return here


@pytest.mark.usefixtures("repository")
def test_what_git_ignores_is_left_out() -> None:
    tree("a.py", "build/b.py", "out/c.py", "pkg/d.py", "pkg/generated/e.py", "pkg/kept.py", "pkg/tracked_pb2.py")
    with open(".gitignore", "w") as stream:
        stream.write("/out/\n*_pb2.py\n")
    with open("pkg/.gitignore", "w") as stream:
        stream.write("generated\n")
    with open(".git/info/exclude", "w") as stream:
        stream.write("a.py\n")
    git("add", "-f", "pkg/tracked_pb2.py")  # as in ruff, that git tracks it does not matter
    assert found() == ["pkg/d.py", "pkg/kept.py"]
    assert found("pkg") == ["pkg/d.py", "pkg/kept.py"]
    assert found("a.py") == ["a.py"]


@pytest.mark.usefixtures("repository")
def test_a_folder_that_git_ignores_is_searched_when_named() -> None:
    tree("a.py", "out/b.py", "out/node_modules/c.py")
    with open(".gitignore", "w") as stream:
        stream.write("out\n")
    assert found() == ["a.py"]
    assert found("out") == ["out/b.py"]


@pytest.mark.usefixtures("repository")
def test_tracked_files_that_were_deleted_are_no_error() -> None:
    tree("a.py", "b.py", "empty/")
    git("add", ".")
    os.unlink("b.py")
    assert found() == ["a.py"]
    assert found("empty") == []


@pytest.mark.usefixtures("repository")
def test_odd_names() -> None:
    tree("new\nline.py", 'quo"te.py', "sp ace/caf\u00e9.py", ":(top)x.py")
    assert found() == [":(top)x.py", "new\nline.py", 'quo"te.py', "sp ace/caf\u00e9.py"]


@pytest.mark.usefixtures("repository")
def test_repositories_in_the_repository() -> None:
    tree("a.py", "nested/b.py", "nested/ignored.py", "library/c.py")
    git("init", "-q", cwd="nested")
    with open("nested/.gitignore", "w") as stream:
        stream.write("ignored.py\n")
    git("init", "-q", cwd="library")
    git("add", ".", cwd="library")
    git("commit", "-qm", "x", cwd="library")
    git("submodule", "add", "-q", "./library", "third_party/library.py")
    expected = ["a.py", "library/c.py", "nested/b.py", "third_party/library.py/c.py"]
    assert found() == expected
    assert found("third_party") == expected[-1:]
    git("submodule", "deinit", "-q", "-f", "third_party/library.py")
    assert found("third_party") == []


def test_a_repository_in_a_plain_folder() -> None:
    tree("work/a.py", "work/out/b.py")
    git("init", "-q", cwd="work")
    with open("work/.gitignore", "w") as stream:
        stream.write("out\n")
    assert found() == ["work/a.py"]


@pytest.mark.usefixtures("repository")
def test_a_hook_of_another_repository_does_not_mislead(monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.py", "ignored.py")
    with open(".gitignore", "w") as stream:
        stream.write("ignored.py\n")
    monkeypatch.setenv("GIT_DIR", "/nowhere/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert found() == ["a.py"]


@pytest.mark.usefixtures("repository")
def test_without_git_the_usual_folders_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    tree("a.py", "build/b.py")
    monkeypatch.setenv("PATH", "")
    assert found() == ["a.py"]


# excludes


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("vendor", "vendor/a.py", True),
        ("vendor", "src/vendor/deep/a.py", True),
        ("vendor/", "src/vendor/a.py", True),
        ("vendor", "src/vendored/a.py", False),
        ("*_pb2.py", "src/x_pb2.py", True),
        ("test_?.py", "test_1.py", True),
        ("test_[!0-9].py", "test_1.py", False),
        ("src/gen", "src/gen/deep/a.py", True),
        ("./src/gen/", "src/gen/a.py", True),
        ("src/gen", "lib/src/gen/a.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/a.py", "src/a.py", True),
        ("src/**/a.py", "src/very/deep/a.py", True),
        ("**/gen/*.py", "src/gen/a.py", True),
        ("src/**", "src/very/deep.py", True),
        ("a.b", "axb/c.py", False),
        ("/else/where", "src/a.py", False),
    ],
)
def test_globs(here: Path, pattern: str, path: str, covered: bool) -> None:
    assert excludes([Exclude(str(here), pattern)], path) is covered
    assert excludes([Exclude(str(here), pattern)], str(here / path)) is covered


@pytest.mark.parametrize(
    ("pattern", "globs"),
    [
        ("{tests,docs}/*", ["tests/*", "docs/*"]),
        ("a{b,{c,d}e}f", ["abf", "acef", "adef"]),
        ("{{cookiecutter.name}}/{a,b}.py", ["{{cookiecutter.name}}/a.py", "{{cookiecutter.name}}/b.py"]),
        ("a{,b}", ["a", "ab"]),
        ("plain}", ["plain}"]),
    ],
)
def test_braces_in_globs_are_those_of_a_shell(here: Path, pattern: str, globs: list[str]) -> None:
    assert read_globs([pattern], str(here)) == tuple(Exclude(str(here), glob) for glob in globs)


@pytest.mark.usefixtures("here")
def test_braces_on_the_command_line_and_in_a_file(run_tonumpy: RunTonumpy) -> None:
    for name in ("a.py", "b.py", "c.py", "d.py"):
        Path(name).write_text("import torch\ntorch.zeros(3, requires_grad=True).numpy()\n")
    out = run_tonumpy("check", "-q", "--exclude", "{a,b}.py,d.py").out
    assert [line.split(":")[0] for line in out.splitlines()] == ["c.py"]
    result = run_tonumpy("check", "--exclude", "{a,b")
    assert result.code == 2
    assert "the brace in `{a,b` is not closed" in result.err
    Path("pyproject.toml").write_text('[tool.tonumpy]\nexclude = ["{a.py"]\n')
    result = run_tonumpy("check")
    assert result.code == 2
    assert "pyproject.toml: [tool.tonumpy] exclude: the brace in `{a.py` is not closed" in result.err


def test_an_absolute_glob(here: Path) -> None:
    assert excludes([Exclude("/nowhere", f"{here}/src")], "src/a.py")
    assert not excludes([Exclude("/nowhere", f"{here}/lib")], "src/a.py")


@pytest.mark.parametrize("in_repository", [False, True])
def test_excluded_files_are_left_out_unless_named(here: Path, in_repository: bool) -> None:
    if in_repository:
        git("init", "-q")
    tree("a.py", "gen/b.py", "gen/c.py")
    excluded = (Exclude(str(here), "gen"),)
    assert found(exclude=excluded) == ["a.py"]
    assert found("a.py", "gen/b.py", exclude=excluded) == ["a.py", "gen/b.py"]
    assert found("a.py", "gen/b.py", exclude=excluded, force_exclude=True) == ["a.py"]


def test_the_excludes_of_a_table_are_relative_to_it(run_tonumpy: RunTonumpy, here: Path) -> None:
    call = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
    tree("project/gen/a.py", "project/src/gen/b.py", "gen/c.py")
    for name in ("project/gen/a.py", "project/src/gen/b.py", "gen/c.py"):
        (here / name).write_text(call)
    (here / "project/pyproject.toml").write_text('[tool.tonumpy]\nexclude = ["gen/*"]\n')
    reported = [line.split(":")[0] for line in run_tonumpy("check", "-q").out.splitlines()]
    assert reported == ["gen/c.py", "project/src/gen/b.py"]
    reported = [line.split(":")[0] for line in run_tonumpy("check", "-q", "--exclude", "src,c.py").out.splitlines()]
    assert reported == ["project/gen/a.py"]
    result = run_tonumpy("check", "-q", "--force-exclude", "project/gen/a.py", "gen/c.py")
    assert [line.split(":")[0] for line in result.out.splitlines()] == ["gen/c.py"]
