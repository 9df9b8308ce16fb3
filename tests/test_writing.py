"""A repaired file is on disk as a whole or not at all, what else a file has stays, and nobody's save is lost."""

from __future__ import annotations

import os
import signal
import stat
from typing import TYPE_CHECKING

import pytest

from tonumpy.cli import disk
from tonumpy.cli import main as cli
from tonumpy.cli.disk import write
from tonumpy.findings import SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes, links and signals of POSIX")

BEFORE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
AFTER = BEFORE.replace("x.numpy()", "x.detach().cpu().numpy()")


def names_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    path.chmod(0o751)
    write(str(path), b"old", b"new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o751)
    assert names_in(tmp_path) == ["a.py"]


@pytest.mark.parametrize("failing", ["os.fsync", "os.chmod"])
def test_a_write_that_fails_leaves_the_file_and_nothing_else(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")

    def fail(*_: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"tonumpy.boundary.output.{failing}", fail)
    with pytest.raises(SourceError, match="No space left on device"):
        write(str(path), b"old", b"new")
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.py"]


def test_a_file_that_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("newer")
    with pytest.raises(SourceError, match="the file changed during the run"):
        write(str(path), b"old", b"new")
    assert path.read_text() == "newer"
    assert names_in(tmp_path) == ["a.py"]


def test_a_reader_is_not_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    with path.open():
        write(str(path), b"old", b"new")
    assert path.read_text() == "new"


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o555])
def test_a_read_only_file_is_not_written_even_by_root(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    path.chmod(mode)
    with pytest.raises(SourceError, match="not written: the file is read-only"):
        write(str(path), b"old", b"new")
    assert (path.read_text(), names_in(tmp_path)) == ("old", ["a.py"])


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root gives a file away")
def test_a_run_as_root_leaves_a_file_to_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    os.chown(path, 12_345, 12_346)
    write(str(path), b"old", b"new")
    assert (path.read_text(), path.stat().st_uid, path.stat().st_gid) == ("new", 12_345, 12_346)


def test_a_file_with_several_names_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    os.link(path, tmp_path / "b.py")
    with pytest.raises(SourceError, match=r"not written: the file has 2 names \(hard links\)"):
        write(str(path), b"old", b"new")
    assert (path.read_text(), path.stat().st_nlink) == ("old", 2)


@pytest.mark.parametrize("name", ["\u4e2d" * 84 + ".py", "n" * 252 + ".py", "-rf.py", "new\nline.py", ".hidden.py"])
def test_odd_names_are_written(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("old")
    write(str(path), b"old", b"new")
    assert (path.read_text(), names_in(tmp_path)) == ("new", [name])


def test_no_link_is_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("in", "out"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("in/kept.py", "out/other.txt"):
        (tmp_path / name).write_text(BEFORE)
    (tmp_path / "in/far.py").symlink_to("../out/other.txt")
    (tmp_path / "in/near.py").symlink_to("kept.py")
    monkeypatch.chdir(tmp_path / "in")
    for arguments in ((), ("far.py",)):
        assert cli.main(["fix", "--isolated", "-q", *arguments]) == 2
        expected = f"far.py: error: not written: it is a link, name {tmp_path}/out/other.txt itself\n"
        assert capsys.readouterr().err == expected
    assert (tmp_path / "in/kept.py").read_text() == AFTER
    assert (tmp_path / "out/other.txt").read_text() == BEFORE
    assert (tmp_path / "in/far.py").is_symlink()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_writing_between_two_files(
    number: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(BEFORE)
    write_one = disk.write

    def write_and_signal(path: str, old: bytes, new: bytes) -> None:
        if path == "b.py":
            os.kill(os.getpid(), number)
        write_one(path, old, new)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(disk, "write", write_and_signal)
    outside = signal.signal(number, signal.default_int_handler)  # these tests may be run where it is ignored
    try:
        assert cli.main(["fix", "--isolated", "-q"]) == code
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, outside)
    assert capfd.readouterr().err == "tonumpy: interrupted\n"
    assert [(tmp_path / f"{name}.py").read_text() for name in "abc"] == [AFTER, BEFORE, BEFORE]


def test_a_read_only_file_is_an_error_and_the_others_are_fixed(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(BEFORE)
    (tmp_path / "b.py").write_text(BEFORE)
    (tmp_path / "a.py").chmod(0o444)
    assert run_tonumpy("fix")[:3] == (
        2,
        "1 file could not be processed.\nFixed 1 finding in 1 file.\n",
        "a.py: error: not written: the file is read-only\n",
    )
    assert [(tmp_path / name).read_text() for name in ("a.py", "b.py")] == [BEFORE, AFTER]
