"""The scripts run as far as their shortest real run: `--help` shows nothing of what is called below it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parents[1]
# What is run, in place of FOLDER a folder of its own; those with a test elsewhere that runs them are not repeated.
QUICK = {
    "check_links": [],
    "decided_receivers": ["examples"],
    "house_map": [],
    "kill_fixes": ["--kills", "1", "--files", "2"],
    "prove_order": ["--seeds", "1", "examples"],
    "write_reference": ["--check"],
    "write_rule_pages": ["--check"],
}
LONG = {
    "fuzz": ["--programs", "1", "examples"],
    "measure_sinks": ["--check", "--every", "50", "json"],
    "verify": ["--device", "cpu", "--fixtures", "runtime/bare", "--output", "FOLDER/verified.md"],
}


def _run(script: str, options: list[str], folder: Path) -> None:
    command = [sys.executable, f"scripts/{script}.py", *(each.replace("FOLDER", str(folder)) for each in options)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    told = done.stdout[-2000:] + done.stderr[-2000:]
    assert done.returncode == 0, told
    assert "Traceback" not in done.stderr, told


@pytest.mark.parametrize("script", QUICK)
def test_a_quick_script_runs(script: str, tmp_path: Path) -> None:
    _run(script, QUICK[script], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("script", LONG)
def test_a_long_script_runs(script: str, tmp_path: Path) -> None:
    _run(script, LONG[script], tmp_path)
