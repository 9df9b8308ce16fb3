"""`check --watch` checks again when a file changes, until it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RunTonumpy

SAFE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
PATIENCE = 60


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
        self._seen = 0

    def told(self) -> str:
        """What the next run says."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            text = self._log.read_text()[self._seen :]
            if "watching for changes" in text:
                time.sleep(0.5)  # before the watch has begun, a change would be none
                self._seen = len(self._log.read_text())
                return text
            time.sleep(0.05)
        pytest.fail(f"no run: {self._log.read_text()}")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    pytest.importorskip("watchfiles")
    (tmp_path / "repository").mkdir()
    yield tmp_path / "repository"


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_change_of_a_module_or_of_the_settings(folder: Path) -> None:
    (folder / "a.py").write_text(SAFE)
    watcher = Watcher(folder, "--show-evidence")
    try:
        assert "a.py:5:14: TNP101 " in watcher.told()
        (folder / "a.py").write_text(f"\n{SAFE}")
        assert "a.py:6:14: TNP101 " in watcher.told()
        (folder / "b.py").write_text(SAFE)
        assert "b.py:5:14: TNP101 " in watcher.told()
        (folder / "pyproject.toml").write_text("[tool.tonumpy]\nselect = ['TNP1021']\n")
        assert "pyproject.toml: [tool.tonumpy] select: no rule has the code" in watcher.told()
        (folder / "pyproject.toml").write_text("[tool.tonumpy]\nselect = ['TNP102']\n")
        assert "All checks passed!" in watcher.told()
        (folder / "notes.txt").write_text("")
        time.sleep(1)
        assert watcher.process.poll() is None
        watcher.process.send_signal(signal.SIGINT)
        assert watcher.process.wait(PATIENCE) == 130
        assert "Traceback" not in watcher._log.read_text()
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
