"""A repair leaves the errors that tests want."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fixture_format import FOLDER

if TYPE_CHECKING:
    from conftest import RunTonumpy

PYTEST = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--rootdir=.",
    "-c=/dev/null",
]


def test_tests_that_want_errors_pass_as_before(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "test_errors.py"
    shutil.copy(FOLDER / "flow" / "wanted_errors" / "clean_wanted_errors.py", path)
    before = path.read_bytes()
    run = subprocess.run([*PYTEST, path.name], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert run_tonumpy("fix", "--unsafe-fixes", "--strict", path.name).code == 0
    assert path.read_bytes() == before
