"""`check --watch` checks again when a file changes, until it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from time_limits import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RunTonumpy

SAFE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"


class Watcher:
    def __init__(self, folder: Path, *options: str) -> None:
        self._log = folder.parent / "log"
        with open(self._log, "wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tonumpy", "check", "--watch", *options],
                cwd=folder,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )

    def tells(self, words: str, path: Path | None = None, text: str = "") -> bool:
        """Whether it says these words, after a text is written to a path."""
        known = len(self.log())
        if path is not None:
            path.write_text(text)
        until = time.monotonic() + PATIENCE
        while words not in self.log()[known:] and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        return words in self.log()[known:]

    def log(self) -> str:
        return self._log.read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    pytest.importorskip("watchfiles")
    (tmp_path / "repository").mkdir()
    yield tmp_path / "repository"


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_change_of_a_module_or_of_the_settings(folder: Path) -> None:
    (folder / "a.py").write_text(SAFE)
    watcher = Watcher(folder, "--show-evidence")
    settings = folder / "pyproject.toml"
    try:
        assert watcher.tells("watching for changes")
        assert "a.py:5:14: TNP101 " in watcher.log()
        assert watcher.tells("a.py:6:14: TNP101 ", folder / "a.py", f"\n{SAFE}")
        assert watcher.tells("b.py:5:14: TNP101 ", folder / "b.py", SAFE)
        told = "pyproject.toml: [tool.tonumpy] select: no rule has the code"
        assert watcher.tells(told, settings, "[tool.tonumpy]\nselect = ['TNP1021']\n")
        assert watcher.tells("All checks passed!", settings, "[tool.tonumpy]\nselect = ['TNP102']\n")
        (folder / "notes.txt").write_text("")
        time.sleep(1)
        assert watcher.process.poll() is None
        watcher.process.send_signal(signal.SIGINT)
        assert watcher.process.wait(PATIENCE) == 130
        assert "Traceback" not in watcher.log()
    finally:
        watcher.process.kill()


def test_what_it_cannot_watch(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    for options in (("-",), ("--add-noqa",), ("--stdin-filename", "a.py")):
        result = run_tonumpy("check", "--watch", *options)
        assert (result.code, "--watch checks files again" in result.err) == (2, True)
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "watchfiles.py").write_text("raise ModuleNotFoundError(name='watchfiles')\n")
    result = run_tonumpy("check", "--watch", PYTHONPATH=str(tmp_path / "hidden"))
    told = "tonumpy: error: --watch needs watchfiles: in a clone of tonumpy, run `pip install '.[watch]'`\n"
    assert (result.code, result.err) == (2, told)
