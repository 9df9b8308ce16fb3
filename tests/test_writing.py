"""A repaired file is on disk as a whole or not at all, what else a file has stays, and nobody's save is lost."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import zlib
from typing import TYPE_CHECKING

import pytest

from tonumpy.findings import SourceError
from tonumpy.frontends import cli, swap, writing
from tonumpy.frontends.writing import remove_leftovers, write

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes, links and signals of POSIX")

BEFORE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
AFTER = BEFORE.replace("x.numpy()", "x.detach().cpu().numpy()")


def swap_is_not_known(_one: str, _other: str) -> bool:
    return False


@pytest.fixture(params=["swapping", "without"], autouse=True)
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With what Linux and macOS can do, and as on other systems."""
    way: str = request.param
    if way == "without":
        monkeypatch.setattr(writing, "swap", swap_is_not_known)
    return way


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

    monkeypatch.setattr(f"tonumpy.frontends.writing.{failing}", fail)
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


def test_what_an_editor_saves_at_the_last_moment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, both_ways: str
) -> None:
    """By a new file in its place, as most editors save; the other way of saving is in the next test."""
    path = tmp_path / "a.py"
    path.write_text("old")
    saved = tmp_path / "saved"
    last_step = swap.swap

    def save_first(one: str, other: str) -> bool:
        if saved.exists():
            os.replace(saved, path)
        return both_ways == "swapping" and last_step(one, other)

    saved.write_text("the user's")
    monkeypatch.setattr(writing, "swap", save_first)
    with pytest.raises(SourceError, match="the file changed during the run"):
        write(str(path), b"old", b"new")
    assert path.read_text() == "the user's"
    assert names_in(tmp_path) == ["a.py"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux knows who writes to a file")
def test_an_editor_that_is_still_writing_wins(tmp_path: Path, both_ways: str) -> None:
    if both_ways == "without":
        pytest.skip("needs the swap")
    path = tmp_path / "a.py"
    path.write_text("old")
    editor = subprocess.Popen(
        ["sh", "-c", f"exec 3<>{path}; echo; read go; echo 'the user'\"'\"'s' >&3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert editor.stdin is not None
    assert editor.stdout is not None
    editor.stdout.readline()  # it has the file open now

    def save() -> None:
        time.sleep(0.1)
        assert editor.stdin is not None
        editor.stdin.write(b"go\n")
        editor.stdin.close()

    thread = threading.Thread(target=save)
    thread.start()
    with pytest.raises(SourceError, match="the file changed during the run"):
        write(str(path), b"old", b"new")
    thread.join()
    editor.wait()
    editor.stdout.close()
    assert path.read_text() == "the user's\n"
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


def test_a_file_with_several_names_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    os.link(path, tmp_path / "b.py")
    with pytest.raises(SourceError, match=r"not written: the file has 2 names \(hard links\)"):
        write(str(path), b"old", b"new")
    assert (path.read_text(), path.stat().st_nlink) == ("old", 2)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    try:
        os.setxattr(path, "user.tag", b"mine")
    except OSError:
        pytest.skip("no extended attributes on this file system")
    write(str(path), b"old", b"new")
    assert os.getxattr(path, "user.tag") == b"mine"

    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("tonumpy.frontends.writing.os.setxattr", refuse)
    with pytest.raises(SourceError, match=r"not written: its attribute user\.tag cannot be kept"):
        write(str(path), b"new", b"newer")
    assert (path.read_text(), names_in(tmp_path)) == ("new", ["a.py"])


def test_somebody_elses_file_is_not_made_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("old")
    fstat = os.fstat

    def owned_by_another(descriptor: int) -> os.stat_result:
        found = fstat(descriptor)
        owner = found.st_uid + (
            1 if found.st_size == 3 and os.readlink(f"/proc/self/fd/{descriptor}") == str(path) else 0
        )
        return os.stat_result((*found[:4], owner, *found[5:10]), {})

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("needs /proc")
    monkeypatch.setattr("tonumpy.frontends.writing.os.fstat", owned_by_another)
    monkeypatch.setattr("tonumpy.frontends.writing.os.fchown", refuse)
    with pytest.raises(SourceError, match="could not keep its owner or group"):
        write(str(path), b"old", b"new")
    assert (path.read_text(), names_in(tmp_path)) == ("old", ["a.py"])


@pytest.mark.parametrize("name", ["\u4e2d" * 84 + ".py", "n" * 252 + ".py", "-rf.py", "new\nline.py", ".hidden.py"])
def test_odd_names_are_written(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("old")
    write(str(path), b"old", b"new")
    assert (path.read_text(), names_in(tmp_path)) == ("new", [name])


def test_links_are_written_through_inside_the_tree_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("in/inner", "out"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("in/kept.txt", "out/other.txt"):
        (tmp_path / name).write_text(BEFORE)
    (tmp_path / "in/inner/near.py").symlink_to("../kept.txt")
    (tmp_path / "in/far.py").symlink_to("../out/other.txt")
    monkeypatch.chdir(tmp_path / "in")
    assert cli.main(["fix", "--isolated", "-q"]) == 2
    expected = f"far.py: error: not written: the link leads out of the folder, to {tmp_path}/out/other.txt\n"
    assert capsys.readouterr().err == expected
    assert (tmp_path / "in/kept.txt").read_text() == AFTER
    assert (tmp_path / "out/other.txt").read_text() == BEFORE
    assert cli.main(["fix", "--isolated", "-q", "far.py"]) == 0  # the link itself was named
    assert (tmp_path / "out/other.txt").read_text() == AFTER
    assert (tmp_path / "in/far.py").is_symlink()


@pytest.mark.parametrize(("content", "mode"), [("new", 0o644), ("old", 0o600), ("ne", 0o200)])
def test_leftovers_of_a_run_that_was_killed_are_removed(content: str, mode: int, tmp_path: Path) -> None:
    digits = f"{'0' * 8}{zlib.crc32(b'new'):08x}{zlib.crc32(b'old'):08x}"
    left, other, folder = (tmp_path / name for name in (f".tonumpy-{digits}", ".tonumpy-notes", f".tonumpy-{'1' * 24}"))
    left.write_text(content)
    left.chmod(mode)
    other.touch()
    folder.mkdir()
    with left.open("ab") as stream:
        assert swap.lock(stream.fileno())
        assert remove_leftovers([str(tmp_path)]) == []  # a run that has not been killed has it locked
        assert left.exists()
    assert remove_leftovers([str(tmp_path), str(tmp_path / "gone")]) == []
    assert names_in(tmp_path) == sorted((other.name, folder.name))


def test_what_was_saved_when_a_run_was_killed_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, both_ways: str, run_tonumpy: RunTonumpy
) -> None:
    """Killed after the two files have changed places, and before it was seen what was there."""
    if both_ways == "without":
        pytest.skip("needs the swap")
    path = tmp_path / "a.py"
    path.write_text(BEFORE)
    last_step = swap.swap

    def save_and_die(one: str, other: str) -> bool:
        path.write_text("the user's")
        last_step(one, other)
        raise MemoryError

    monkeypatch.setattr(writing, "swap", save_and_die)
    with pytest.raises(MemoryError):
        write(str(path), BEFORE.encode(), AFTER.encode())
    (left,) = tmp_path.glob(".tonumpy-*")
    assert left.read_text() == "the user's"
    result = run_tonumpy("fix", "-q")
    assert result.code == 2
    assert result.err.startswith(f"{left.name}: error: holds what was saved while a run was killed")
    assert left.read_text() == "the user's"


def test_leftovers_beside_the_file_that_a_link_leads_to_are_removed(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/kept.txt").write_text(AFTER)
    (tmp_path / "a.py").symlink_to("inner/kept.txt")
    left = tmp_path / "inner" / f".tonumpy-{'0' * 24}"
    left.touch(0o200)
    assert run_tonumpy("fix", "-q").code == 0
    assert not left.exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_told_what_was_written(
    number: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(BEFORE)
    write_one = writing.write

    def write_and_signal(path: str, old: bytes, new: bytes) -> None:
        if path == "b.py":
            os.kill(os.getpid(), number)
        write_one(path, old, new)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(writing, "write", write_and_signal)
    outside = signal.signal(number, signal.default_int_handler)  # these tests may be run where it is ignored
    try:
        assert cli.main(["fix", "--isolated", "-q"]) == code
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, outside)
    name = signal.Signals(number).name
    assert capsys.readouterr().err == f"tonumpy: error: {name}: 2 of 3 files are written, the others as before\n"
    assert [(tmp_path / f"{name}.py").read_text() for name in "abc"] == [AFTER, AFTER, BEFORE]


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


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setattr("tonumpy.frontends.writing.open_new", refuse)
    with pytest.raises(SourceError) as caught:
        write(str(path), b"old", b"new")
    told = f"not written: no file can be made in its folder ({tmp_path.name}): Permission denied"
    assert (caught.value.reason, path.read_bytes()) == (told, b"old")
