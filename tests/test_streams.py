"""Standard streams that are closed or full: exit code 2 and a word about it, and nothing is written to files before."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from time_limits import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")

CALL = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"


def run(command: str, folder: Path) -> tuple[int, str]:
    """The exit code and what is said on standard error, `tonumpy` being the command."""
    command = command.replace("tonumpy", f"{sys.executable} -m tonumpy", 1)
    done = subprocess.run(["sh", "-c", command], cwd=folder, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    return done.returncode, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(CALL)
    return tmp_path


full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")


@full
@pytest.mark.parametrize("command", ["check", "fix --diff", "rules", "explain TNP101", "--version"])
def test_a_full_stdout(command: str, folder: Path) -> None:
    said = "tonumpy: error: standard output: No space left on device\n"
    code, err = run(f"tonumpy {command} > /dev/full", folder)
    assert (code, err[-len(said) :]) == (2, said)
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@full
def test_a_full_stderr(folder: Path) -> None:
    assert run("tonumpy check -q gone.py a.py > found 2> /dev/full", folder)[0] == 2
    assert (folder / "found").read_text().startswith("a.py:5:14: TNP101")


@pytest.mark.parametrize("command", ["check a.py", "fix a.py", "fix - < a.py", "--version"])
def test_a_closed_stdout(command: str, folder: Path) -> None:
    assert run(f"tonumpy {command} >&-", folder) == (2, "tonumpy: error: standard output is closed\n")
    assert (folder / "a.py").read_text() == CALL


def test_a_closed_stderr(folder: Path) -> None:
    assert run("tonumpy check -q gone.py a.py > found 2>&-", folder)[0] == 2
    assert (folder / "found").read_text().startswith("a.py:5:14: TNP101")
    assert run("tonumpy fix -q a.py 2>&-", folder)[0] == 0
    assert (folder / "a.py").read_text() == CALL.replace("x.numpy()", "x.detach().cpu().numpy()")


def test_a_closed_stdin(folder: Path) -> None:
    assert run("tonumpy check - <&-", folder) == (2, "tonumpy: error: standard input is closed\n")
    assert run("tonumpy fix -q a.py > out <&-", folder)[0] == 0


def test_all_of_them_closed(folder: Path) -> None:
    assert run("tonumpy fix a.py <&- >&- 2>&-", folder)[0] == 2
    assert (folder / "a.py").read_text() == CALL


def test_a_reader_that_has_read_enough(folder: Path) -> None:
    assert run("tonumpy check a.py | true", folder) == (0, "")
