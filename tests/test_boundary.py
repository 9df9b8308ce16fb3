"""What a hostile repository tries with the command that its reader runs: to write, to read and to spend elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from time_limits import PATIENCE

from tonumpy.boundary.paths import private_folder
from tonumpy.cli import main as cli
from tonumpy.config import ConfigError, Configuration, cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import RunTonumpy

CODE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
SETTINGS = "[tool.tonumpy]\n"
PRECIOUS = b"precious\n"
NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None or os.name == "nt", reason="needs git and a POSIX shell")
ON_POSIX = pytest.mark.skipif(os.name == "nt", reason="needs links, modes and pipes")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a module that has a finding, and the current folder."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "m.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(*arguments: str, folder: Path) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, timeout=PATIENCE)


# a file is written


@NEEDS_GIT
def test_a_baseline_is_no_hook(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    git("init", "-q", ".", folder=tmp_path)
    (tmp_path / "m.py").write_text(CODE.replace(".numpy()", f".numpy()  # $(touch {tmp_path}/marker)"))
    (tmp_path / "pyproject.toml").write_text(f'{SETTINGS}baseline = ".git/hooks/post-commit"\n')
    hook = tmp_path / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    result = run_tonumpy("baseline", "write")
    assert (result.code, "belongs to version control" in result.err) == (2, True)
    git("commit", "-q", "--allow-empty", "-m", "x", folder=tmp_path)
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"
    assert not (tmp_path / "marker").exists()


@NEEDS_GIT
def test_a_name_in_a_report_is_no_setting_of_gits(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    git("init", "-q", ".", folder=tmp_path)
    marker = tmp_path / "marker"
    (tmp_path / f'[core] fsmonitor = "touch {marker.name}; false" #.py').write_text(CODE)
    (tmp_path / "report.txt").symlink_to(".git/config")
    result = run_tonumpy("check", "-q", "-o", "report.txt", ".")
    assert (result.code, "belongs to version control" in result.err) == (2, True)
    git("status", folder=tmp_path)
    assert not marker.exists()


@pytest.mark.parametrize("name", ["src/m.py", "pyproject.toml", "notes.txt", "data.json"])
def test_a_baseline_replaces_nothing_but_a_baseline(name: str, tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/m.py").write_text(CODE)
    (tmp_path / "notes.txt").write_bytes(PRECIOUS)
    (tmp_path / "data.json").write_text('{"version": 1}')
    (tmp_path / "pyproject.toml").write_text(f'{SETTINGS}baseline = "{name}"\n')
    before = (tmp_path / name).read_bytes()
    result = run_tonumpy("baseline", "write")
    assert (result.code, result.err.startswith(f"tonumpy: error: {name}: ")) == (2, True)
    assert (tmp_path / name).read_bytes() == before


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs a limit of the size of files")
def test_a_full_disk_loses_neither_the_old_baseline_nor_the_old_report(tmp_path: Path) -> None:
    def run(options: str, limit: str = "") -> int:
        command = f"{limit} '{sys.executable}' -m tonumpy {options}"
        return subprocess.run(
            ["/bin/bash", "-c", command], cwd=tmp_path, capture_output=True, timeout=PATIENCE
        ).returncode

    (tmp_path / "m.py").write_text(CODE)
    assert run("baseline write .") == 0
    assert run("check --output-format json -o report.json .") == 1
    before = [(tmp_path / name).read_bytes() for name in ("tonumpy-baseline.json", "report.json")]
    for number in range(60):
        (tmp_path / f"m{number}.py").write_text(CODE)
    assert run("baseline write .", "ulimit -f 4; PYTHONDONTWRITEBYTECODE=1") == 2
    assert run("check --output-format json -o report.json .", "ulimit -f 4; PYTHONDONTWRITEBYTECODE=1") == 2
    assert [(tmp_path / name).read_bytes() for name in ("tonumpy-baseline.json", "report.json")] == before
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".tonumpy-")]


def _link(to: str) -> Callable[[Path], None]:
    return lambda tree: (tree / "report.txt").symlink_to(to)


def _folder_link(to: str) -> Callable[[Path], None]:
    return lambda tree: (tree / "reports").symlink_to(to)


def _chain(tree: Path) -> None:
    (tree / "report.txt").symlink_to("one")
    (tree / "one").symlink_to("two/config")
    (tree / "two").symlink_to(".git")


def _read_only(tree: Path) -> None:
    (tree / "kept.txt").write_bytes(PRECIOUS)
    (tree / "kept.txt").chmod(0o444)


def _ring(tree: Path) -> None:
    (tree / "report.txt").symlink_to("other.txt")
    (tree / "other.txt").symlink_to("report.txt")


def _as_it_is(_tree: Path) -> None:
    pass


# What the repository holds, and where the report is to go; none of them is written.
REPORTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "git's settings": (_as_it_is, ".git/config"),
    "in capitals": (_as_it_is, ".GIT/config"),
    "a short name": (_as_it_is, "GIT~1/config"),
    "dots and blanks at the end": (_as_it_is, ".git. ./config"),
    "roundabout": (_as_it_is, "a/../.git/hooks/../config"),
    "mercurial": (lambda tree: (tree / ".hg").mkdir(), ".hg/hgrc"),
    "a link to git's settings": (_link(".git/config"), "report.txt"),
    "links in a chain": (_chain, "report.txt"),
    "a link to git's folder": (_folder_link(".git"), "reports/config"),
    "a link to a folder elsewhere": (_folder_link(".."), "reports/kept.txt"),
    "a link to a file elsewhere": (_link("../kept.txt"), "report.txt"),
    "a link to nothing elsewhere": (_link("../new.txt"), "report.txt"),
    "a link to one of its own files": (_link("m.py"), "report.txt"),
    "a link to nothing": (_link("new.txt"), "report.txt"),
    "a link to a stream": (_link("/dev/stderr"), "report.txt"),
    "links in a ring": (_ring, "report.txt"),
    "a read-only file": (_read_only, "kept.txt"),
    "a module": (_as_it_is, "m.py"),
    "a folder": (lambda tree: (tree / "sub").mkdir(), "sub"),
    "a folder that is not there": (_as_it_is, "sub/"),
}


def contents(folder: Path) -> dict[str, bytes]:
    """All files under the folder, links as such."""
    return {
        str(path.relative_to(folder)): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@ON_POSIX
@pytest.mark.parametrize("name", REPORTS)
def test_where_no_report_is_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    (tree / ".git").mkdir(parents=True)
    (tree / ".git/config").write_bytes(PRECIOUS)
    (tmp_path / "kept.txt").write_bytes(PRECIOUS)
    (tree / "m.py").write_text(CODE)
    lay, path = REPORTS[name]
    lay(tree)
    before = contents(tmp_path)
    monkeypatch.chdir(tree)
    assert cli.main(["check", "-q", "-o", path, "m.py"]) == 2
    assert contents(tmp_path) == before
    monkeypatch.chdir("/")  # and not where the repository is named from elsewhere, either
    assert cli.main(["check", "-q", "-o", os.path.join(tree, path), str(tree / "m.py")]) == 2
    assert contents(tmp_path) == before


@ON_POSIX
def test_a_hard_link_is_parted_from_the_other_file(tree: Path) -> None:
    (tree / "kept.txt").write_bytes(PRECIOUS)
    os.link("kept.txt", "report.txt")
    assert cli.main(["check", "-q", "-o", "report.txt", "m.py"]) == 1
    assert (tree / "kept.txt").read_bytes() == PRECIOUS
    assert b"TNP101" in (tree / "report.txt").read_bytes()


@ON_POSIX
def test_a_pipe_is_written_to_as_it_is(tree: Path, run_tonumpy: RunTonumpy) -> None:
    os.mkfifo(tree / "report.txt")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tree / "report.txt").read_bytes()))
    reader.start()
    assert run_tonumpy("check", "-q", "-o", "report.txt", "m.py").code == 1
    reader.join()
    assert b"TNP101" in read[0]


@ON_POSIX
@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_stream_is_written_to_as_it_is(path: str, run_tonumpy: RunTonumpy) -> None:
    if not os.path.exists(os.path.dirname(path)):
        pytest.skip("has no such streams")
    assert "TNP101" in run_tonumpy("check", "-q", "-o", path, "m.py").out


@ON_POSIX
@pytest.mark.usefixtures("tree")
def test_a_link_of_the_users_own_is_followed(tmp_path_factory: pytest.TempPathFactory) -> None:
    own = tmp_path_factory.mktemp("own")
    (own / "old.txt").write_bytes(PRECIOUS)
    (own / "old.txt").chmod(0o640)
    (own / "latest.txt").symlink_to("old.txt")
    assert cli.main(["check", "-q", "-o", str(own / "latest.txt"), "m.py"]) == 1
    assert (own / "latest.txt").is_symlink()
    assert b"TNP101" in (own / "old.txt").read_bytes()
    assert stat.S_IMODE((own / "old.txt").stat().st_mode) == 0o640


@ON_POSIX
@pytest.mark.parametrize("arguments", [["fix", "-q", ".git/hooks/m.py"], ["check", "--add-noqa", ".git/hooks/m.py"]])
def test_nothing_is_repaired_in_the_folder_of_git(arguments: list[str], tree: Path) -> None:
    (tree / ".git/hooks").mkdir()
    (tree / ".git/hooks/m.py").write_text(CODE)
    assert cli.main(arguments) == 2
    assert (tree / ".git/hooks/m.py").read_text() == CODE
    assert os.listdir(tree / ".git/hooks") == ["m.py"]


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", ".git .", ".hg", ".svn", ".jj"])
def test_folders_of_version_control_are_known_by_any_name(name: str) -> None:
    assert private_folder(os.path.join(os.sep, "a", name, "b")) == os.path.join(os.sep, "a", name)
    assert private_folder(os.path.join(os.sep, "a", f"{name[:4]}ignore")) is None


# a path stands in the settings


@ON_POSIX
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("baseline", ".git/kept.json"),
        ("baseline", ".GIT/kept.json"),
        ("baseline", "out/kept.json"),
        ("baseline", "../kept.json"),
        ("baseline", "."),
        ("baseline", "~/kept.json"),
        ("cache-dir", ".git/kept"),
        ("cache-dir", "inner/../.git"),
        ("cache-dir", "out/kept"),
        ("cache-dir", "/tmp"),
        ("extend", "/etc/passwd"),
        ("extend", "../private.toml"),
        ("extend", "~/private.toml"),
        ("extend", "out/private.toml"),
        ("extend", "private.toml"),
        ("extend", ".git/private.toml"),
        ("extend", "inner/../../private.toml"),
    ],
)
def test_what_settings_do_not_name(
    key: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tmp_path / "tree"
    for name in (".git", "inner"):
        (tree / name).mkdir(parents=True)
    (tmp_path / "private.toml").write_text(f'{SETTINGS}select = ["PRIVATE"]\n')
    (tree / ".git/private.toml").write_text(f'{SETTINGS}select = ["PRIVATE"]\n')
    (tree / "private.toml").symlink_to("../private.toml")
    (tree / "out").symlink_to("..")
    (tree / "pyproject.toml").write_text(f'{SETTINGS}{key} = "{value}"\n')
    for number in range(cli.MANY):
        (tree / f"m{number}.py").write_text(CODE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TONUMPY_NO_CACHE", raising=False)
    before = contents(tmp_path)
    monkeypatch.chdir(tree)
    assert cli.main(["check", "-q"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"tonumpy: error: {tree}/pyproject.toml: [tool.tonumpy] {key}: expected a ")
    assert "PRIVATE" not in said
    assert cli.main(["baseline", "write"]) == 2
    assert contents(tmp_path) == before


@ON_POSIX
def test_settings_are_no_link_to_elsewhere(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    private = tmp_path_factory.mktemp("private") / "pyproject.toml"
    private.write_text(f'{SETTINGS}select = ["PRIVATE"]\n')
    (tree / "pyproject.toml").symlink_to(private)
    with pytest.raises(ConfigError, match=r"expected a file in .*; `--config` may name any other"):
        Configuration().settings_in("")
    (tree / "pyproject.toml").unlink()
    (tree / "own.toml").write_text(f"{SETTINGS}strict = true\n")
    (tree / "pyproject.toml").symlink_to("own.toml")
    assert Configuration().settings_in("").strict


@pytest.mark.parametrize("option", ["--cache-dir", "--baseline"])
def test_an_option_names_nothing_in_the_folder_of_git(option: str, tree: Path, run_tonumpy: RunTonumpy) -> None:
    for number in range(cli.MANY):
        (tree / f"m{number}.py").write_text(CODE)
    command = ["check"] if option == "--cache-dir" else ["baseline", "write"]
    result = run_tonumpy(*command, option, ".git/kept", TONUMPY_NO_CACHE="")
    assert (result.code, "belongs to version control" in result.err) == (2, True)
    assert os.listdir(tree / ".git") == []


# settings cost


def test_only_the_command_line_raises_the_number_of_processes(tree: Path, run_tonumpy: RunTonumpy) -> None:
    (tree / "pyproject.toml").write_text(f"{SETTINGS}jobs = 100000\n")
    assert f"jobs = {cores()}\n" in run_tonumpy("check", "--show-settings").out
    assert "jobs = 100000\n" in run_tonumpy("check", "--show-settings", "--jobs", "100000").out
    (tree / "base.toml").write_text(f"{SETTINGS}jobs = 100000\n")
    (tree / "pyproject.toml").write_text(f'{SETTINGS}extend = "base.toml"\n')
    assert f"jobs = {cores()}\n" in run_tonumpy("check", "--show-settings").out
    (tree / "pyproject.toml").write_text(f"{SETTINGS}jobs = 1\n")
    assert "jobs = 1\n" in run_tonumpy("check", "--show-settings").out


def test_a_glob_has_no_warning(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    (tmp_path / "m.py").write_text(CODE)
    globs = ["[a-c--z]x", "[a&&b]", "[a||b]", "[a~~b]", "[[a]", "[--a]", "[---]", "[!--a]", "[+--]"]
    (tmp_path / "pyproject.toml").write_text(f"{SETTINGS}exclude = {json.dumps(globs)}\n")
    result = run_tonumpy("check", "-q")
    assert (result.code, result.err) == (1, "")


# folders and links without end

DEPTH = 1_010


@pytest.fixture
def _removed(tmp_path: Path) -> Iterator[None]:
    """What pytest would fail to remove."""
    yield
    for each in tmp_path.iterdir():
        if each.is_dir() and not each.is_symlink():
            subprocess.run(["rm", "-rf", str(each)], check=True)  # too deep for shutil.rmtree


def _deep(folder: Path, *, files: bool = False) -> str:
    """Folders in one another, the last of them with a module, or each; the path of the last module."""
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        for _ in range(DEPTH):
            os.mkdir("d")
            os.chdir("d")
            if files:
                Path("x.py").write_text(CODE)
        Path("x.py").write_text(CODE)
    finally:
        os.fchdir(before)
        os.close(before)
    return "d/" * DEPTH + "x.py"


@pytest.mark.slow
@ON_POSIX
@pytest.mark.usefixtures("_removed")
@pytest.mark.parametrize("is_repository", [True, False])
def test_folders_in_one_another_end_no_run(is_repository: bool, tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    if is_repository:
        git("init", "-q", ".", folder=tmp_path)
    (tmp_path / "m.py").write_text(CODE)
    (tmp_path / "pyproject.toml").write_text(f'{SETTINGS}exclude = ["nothing", "none"]\n')
    path = _deep(tmp_path)
    for arguments in (["."], [path, "m.py"], ["-q", "--show-settings", "."]):
        result = run_tonumpy("check", *arguments)
        assert (result.code, result.err) == (0 if "--show-settings" in arguments else 1, "")
        assert "m.py" in result.out and path in result.out
    assert run_tonumpy("baseline", "write").code == 0
    assert run_tonumpy("check", "--baseline", "tonumpy-baseline.json").code == 0
    assert (run_tonumpy("fix", "-q", ".").code, run_tonumpy("check").code) == (0, 0)


@ON_POSIX
@pytest.mark.usefixtures("_removed")
def test_the_time_for_folders_in_one_another_does_not_grow_with_their_square(tmp_path: Path) -> None:
    git("init", "-q", ".", folder=tmp_path)
    _deep(tmp_path, files=True)
    command = f"ulimit -t 10; exec '{sys.executable}' -m tonumpy check -q --show-files ."
    done = subprocess.run(["/bin/bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout.count(".py\n"), done.stderr) == (0, DEPTH, "")


@pytest.mark.slow
@ON_POSIX
@pytest.mark.parametrize("is_repository", [True, False])
def test_links_one_after_the_other_end_no_run(is_repository: bool, tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    if is_repository:
        git("init", "-q", ".", folder=tmp_path)
    (tmp_path / "m.py").write_text(CODE)
    (tmp_path / "l0.py").symlink_to("m.py")
    (tmp_path / "f0").symlink_to(".")
    for number in range(1, 1_100):
        (tmp_path / f"l{number}.py").symlink_to(f"l{number - 1}.py")
        (tmp_path / f"f{number}").symlink_to(f"f{number - 1}")
    for arguments in (["."], ["l1099.py", "m.py"], ["f1099", "m.py"], ["-o", "l1099.py", "m.py"]):
        for command in ("check",) if arguments[0] == "-o" else ("check", "fix"):
            result = run_tonumpy(command, *arguments)
            assert result.code == 2
            assert "internal error" not in result.err
        (tmp_path / "m.py").write_text(CODE)
    (tmp_path / "pyproject.toml").symlink_to("l1099.py")
    result = run_tonumpy("check", "m.py")
    assert "internal error" not in result.err
