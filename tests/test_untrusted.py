"""No program of a repository's choosing is run by looking at its files.

Each trap is sprung once by git itself, where that can be done without a terminal or a server: a trap that does not work
proves nothing.
"""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from time_limits import PATIENCE

from tonumpy.cli.files import find_files
from tonumpy.config import Configuration

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import RunTonumpy

pytestmark = pytest.mark.skipif(shutil.which("git") is None or os.name == "nt", reason="needs git and a POSIX shell")

MODULE = "import torch\n"  # git is asked before a file is looked into
MISSING = "1234567890" * 4
LISTING = ("ls-files", "-co", "--exclude-standard")
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.org")
FETCHES_MISSING = "[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = origin\n"


class Trap:
    """A repository in a folder of its own, and a program beside it that leaves a marker when it is run."""

    def __init__(self, folder: Path) -> None:
        self.marker = folder / "marker"
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\ntouch '{self.marker}'\nexit 1\n")
        self.program.chmod(0o755)
        self.repository = folder / "repository"
        self.repository.mkdir()
        self.git("init", "-q")
        (self.repository / "m.py").write_text(MODULE)
        self.git("add", "m.py")

    @property
    def configuration(self) -> Path:
        return self.repository / ".git/config"

    def git(self, *arguments: str, folder: Path | None = None, standard_input: str = "") -> None:
        """What becomes of it is of no interest: many a trap makes git fail."""
        command = ["git", *IDENTITY, *arguments]
        where = folder or self.repository
        subprocess.run(command, cwd=where, input=standard_input.encode(), capture_output=True, timeout=PATIENCE)

    def configure(self, text: str, path: Path | None = None) -> None:
        with open(path or self.configuration, "a") as stream:
            stream.write(text.replace("PROGRAM", str(self.program)))

    def miss_an_object(self, folder: Path | None = None) -> None:
        """An ignore file that is in the index only, and whose text is not there."""
        self.git("update-index", "--add", "--cacheinfo", f"100644,{MISSING},.gitignore", folder=folder)
        self.git("update-index", "--skip-worktree", ".gitignore", folder=folder)
        ((folder or self.repository) / "new.txt").touch()  # else there is nothing to be ignored


def file_system_monitor(trap: Trap) -> Callable[[], None]:
    trap.configure('[core]\nfsmonitor = "PROGRAM"\n')
    return lambda: trap.git(*LISTING)


def folder_of_hooks(trap: Trap) -> Callable[[], None]:
    hooks = trap.repository / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(trap.program, hooks / name)
    trap.configure("[core]\nhooksPath = hooks\n")
    return lambda: trap.git("commit", "--allow-empty", "-m", "x")


def hooks(trap: Trap) -> Callable[[], None]:
    (trap.repository / ".git/hooks").mkdir(exist_ok=True)
    for name in ("post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(trap.program, trap.repository / ".git/hooks" / name)
    return lambda: trap.git("commit", "--allow-empty", "-m", "x")


def program_of_the_remote(trap: Trap) -> Callable[[], None]:
    trap.miss_an_object()
    trap.configure(f'{FETCHES_MISSING}[remote "origin"]\npromisor = true\nurl = /nowhere\nuploadpack = "PROGRAM;"\n')
    return lambda: trap.git(*LISTING)


def external_transport(trap: Trap) -> Callable[[], None]:
    trap.miss_an_object()
    trap.configure(f'{FETCHES_MISSING}[remote "origin"]\npromisor = true\nurl = "ext::PROGRAM"\n')
    trap.configure("[protocol]\nallow = always\n")
    return lambda: trap.git(*LISTING)


def ssh_command(trap: Trap) -> Callable[[], None]:
    trap.miss_an_object()
    trap.configure(f'{FETCHES_MISSING}[remote "origin"]\npromisor = true\nurl = "ssh://nowhere.invalid/x"\n')
    trap.configure('[core]\nsshCommand = "PROGRAM"\n')
    return lambda: trap.git(*LISTING)


def proxy(trap: Trap) -> Callable[[], None]:
    trap.miss_an_object()
    trap.configure(f'{FETCHES_MISSING}[remote "origin"]\npromisor = true\nurl = "git://nowhere.invalid/x"\n')
    trap.configure('[core]\ngitProxy = "PROGRAM"\n')
    return lambda: trap.git(*LISTING)


def credential_helper(trap: Trap) -> Callable[[], None]:
    trap.miss_an_object()
    trap.configure(f'{FETCHES_MISSING}[remote "origin"]\npromisor = true\nurl = "http://127.0.0.1:9/x"\n')
    trap.configure('[credential]\nhelper = "!PROGRAM"\n[core]\naskPass = "PROGRAM"\n')
    return lambda: trap.git("credential", "fill", standard_input="protocol=http\nhost=h\n\n")


def pager(trap: Trap) -> None:
    trap.configure('[core]\npager = "PROGRAM"\neditor = "PROGRAM"\n[pager]\nls-files = "PROGRAM"\n')


def conversion_to_text(trap: Trap) -> Callable[[], None]:
    (trap.repository / ".gitattributes").write_text("* diff=trap\n")
    trap.configure('[diff "trap"]\ntextconv = "PROGRAM"\ncommand = "PROGRAM"\n')
    return lambda: trap.git("diff", "--cached", "--ext-diff")


def filters(trap: Trap) -> Callable[[], None]:
    (trap.repository / ".gitattributes").write_text("* filter=trap\n")
    trap.configure('[filter "trap"]\nclean = "PROGRAM"\nsmudge = "PROGRAM"\nprocess = "PROGRAM"\nrequired = true\n')
    return lambda: trap.git("add", ".gitattributes")


def aliases(trap: Trap) -> Callable[[], None]:
    trap.configure('[alias]\nls-files = "!PROGRAM"\ncheck-ignore = "!PROGRAM"\ntrap = "!PROGRAM"\n')
    return lambda: trap.git("trap")


def included_configuration(trap: Trap) -> Callable[[], None]:
    trap.configure('[core]\nfsmonitor = "PROGRAM"\n', trap.repository / "more")
    trap.configure("[include]\npath = ../more\n")
    return lambda: trap.git(*LISTING)


def configuration_of_the_work_tree(trap: Trap) -> Callable[[], None]:
    trap.configure("[core]\nrepositoryformatversion = 1\n[extensions]\nworktreeConfig = true\n")
    trap.configure('[core]\nfsmonitor = "PROGRAM"\n', trap.repository / ".git/config.worktree")
    return lambda: trap.git(*LISTING)


def linked_work_tree(trap: Trap) -> Callable[[], None]:
    trap.git("commit", "-m", "x")
    trap.git("worktree", "add", "-f", "tree")
    trap.configure('[core]\nfsmonitor = "PROGRAM"\n')
    return lambda: trap.git(*LISTING, folder=trap.repository / "tree")


def nested_repository(trap: Trap) -> Callable[[], None]:
    inner = trap.repository / "inner"
    inner.mkdir()
    trap.git("init", "-q", folder=inner)
    (inner / "n.py").write_text(MODULE)
    trap.configure('[core]\nfsmonitor = "PROGRAM"\n', inner / ".git/config")
    return lambda: trap.git(*LISTING, folder=inner)


def submodule(trap: Trap) -> Callable[[], None]:
    """Its folder is no repository but names one, which is part of the outer one's files."""
    inner = trap.repository / "inner"
    trap.git("init", "-q", "--separate-git-dir", "elsewhere", "inner")
    (inner / ".git").write_text("gitdir: ../elsewhere\n")
    (inner / "n.py").write_text(MODULE)
    trap.git("update-index", "--add", "--cacheinfo", f"160000,{MISSING},inner")
    (trap.repository / ".gitmodules").write_text(f'[submodule "x"]\npath = inner\nurl = ext::{trap.program}\n')
    trap.configure('[core]\nfsmonitor = "PROGRAM"\n', trap.repository / "elsewhere/config")
    return lambda: trap.git(*LISTING, folder=inner)


def bare_repository(trap: Trap) -> Callable[[], None]:
    """A folder that a plain clone delivers: nothing in it is called `.git`."""
    inner = trap.repository / "inner"
    trap.git("init", "-q", "--bare", "inner")
    trap.configure('[core]\nbare = false\nworktree = .\nfsmonitor = "PROGRAM"\n', inner / "config")
    (inner / "n.py").write_text(MODULE)
    return lambda: trap.git(*LISTING, folder=inner)


TRAPS = [
    file_system_monitor,
    folder_of_hooks,
    hooks,
    program_of_the_remote,
    external_transport,
    ssh_command,
    proxy,
    credential_helper,
    pager,
    conversion_to_text,
    filters,
    aliases,
    included_configuration,
    configuration_of_the_work_tree,
    linked_work_tree,
    nested_repository,
    submodule,
    bare_repository,
]


@pytest.mark.parametrize("lay", TRAPS, ids=lambda lay: lay.__name__)
def test_a_repository_runs_nothing(
    lay: Callable[[Trap], Callable[[], None] | None],
    tmp_path: Path,
    run_tonumpy: RunTonumpy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trap = Trap(tmp_path)
    spring = lay(trap)
    if spring is not None:
        spring()
        assert trap.marker.exists(), "git itself does not step into the trap"
        trap.marker.unlink()
    folders = [
        "repository",
        *(f"repository/{name}" for name in os.listdir(trap.repository) if name in ("inner", "tree")),
    ]
    monkeypatch.chdir(tmp_path)
    for folder in folders:
        found = find_files([folder], Configuration(isolated=True))
        assert any(path.startswith(f"{folder}/") for path in found.files)
        assert (found.errors, found.warnings) == ([], [])
        assert not trap.marker.exists()
    result = run_tonumpy("check", "-q", *folders)
    assert (result.code, result.err) == (0, "")
    assert not trap.marker.exists()


@pytest.mark.parametrize(
    "environment",
    [
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "PROGRAM"},
        {"GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='PROGRAM'"},
        {"GIT_CONFIG_GLOBAL": "FOLDER/settings"},
        {"GIT_CONFIG_SYSTEM": "FOLDER/settings"},
        {"GIT_DIR": "FOLDER/repository/elsewhere"},
        {"GIT_COMMON_DIR": "FOLDER/repository/elsewhere", "GIT_DIR": "FOLDER/repository/.git"},
    ],
    ids=lambda environment: "+".join(environment),
)
def test_the_environment_runs_nothing(
    environment: dict[str, str], tmp_path: Path, run_tonumpy: RunTonumpy, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = Trap(tmp_path)
    trap.configure('[core]\nfsmonitor = "PROGRAM"\n', tmp_path / "settings")
    shutil.copytree(trap.repository / ".git", trap.repository / "elsewhere")
    trap.configure('[core]\nbare = false\nfsmonitor = "PROGRAM"\n', trap.repository / "elsewhere/config")
    for name, value in environment.items():
        monkeypatch.setenv(name, value.replace("PROGRAM", str(trap.program)).replace("FOLDER", str(tmp_path)))
    trap.git(*LISTING)
    assert trap.marker.exists(), "git itself does not step into the trap"
    trap.marker.unlink()
    result = run_tonumpy("check", "-q", "repository")
    assert (result.code, result.err) == (0, "")
    assert not trap.marker.exists()


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_git_is_not_looked_for_in_the_folder(entry: str, tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    trap.git("commit", "-m", "x")
    for place in (trap.repository, trap.repository / "bin"):
        place.mkdir(exist_ok=True)
        shutil.copy(trap.program, place / "git")
    command = [sys.executable, "-m", "tonumpy", "check", "-q", "--diff-base", "HEAD"]
    environment = os.environ | {"PATH": f"{entry}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=trap.repository, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert not trap.marker.exists()


def test_a_pipe_in_place_of_an_ignore_file_is_not_waited_for(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    os.mkfifo(trap.repository / ".gitignore")
    found = find_files([str(trap.repository)], Configuration(isolated=True))
    assert (found.files, found.warnings) == ([str(trap.repository / "m.py")], [])


def test_to_find_files_no_program_is_run(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    trap = Trap(tmp_path)
    (trap.repository / ".gitignore").write_text("out\n")
    (tmp_path / "bin").mkdir()
    shutil.copy(trap.program, tmp_path / "bin/git")
    result = run_tonumpy("check", "-q", "repository", PATH=f"{tmp_path}/bin:{os.environ['PATH']}")
    assert (result.code, result.err) == (0, "")
    assert not trap.marker.exists()


def test_repositories_one_in_the_other(tmp_path: Path) -> None:
    depth, before = 100, sys.getrecursionlimit()
    inner = tmp_path / "/".join("a" * depth)
    inner.mkdir(parents=True)
    (inner / "m.py").write_text(MODULE)
    for folder in (inner, *list(inner.parents)[:depth]):
        (folder / ".git").mkdir()
    sys.setrecursionlimit(len(inspect.stack()) + depth)
    try:
        found = find_files([str(tmp_path)], Configuration(isolated=True))
    finally:
        sys.setrecursionlimit(before)
    assert found.files == [str(inner / "m.py")]
