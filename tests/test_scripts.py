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
    "write_rule_pages": ["--check"],
}
LONG = {
    "compare_builds": ["tonumpy", "tonumpy", "examples"],
    "measure_sinks": ["--check", "--every", "50", "json"],
    "verify": ["--device", "cpu", "--fixtures", "runtime/bare", "--output", "FOLDER/verified.md"],
}
# Tests of these files run them.
ELSEWHERE = {
    "check_release": "test_release",
    "generate_torch_api": "test_torch_api",
    "tests_of_edits": "test_tests_of_edits",
}
PROGRAM = """
import torch

x = torch.ones(2, device="cuda")
print(x.cpu().numpy())
"""


def test_each_script_is_run() -> None:
    scripts = {path.stem for path in (ROOT / "scripts").glob("*.py") if '"__main__"' in path.read_text("utf-8")}
    assert scripts == {*QUICK, *LONG, *ELSEWHERE}
    for script, test in ELSEWHERE.items():
        assert f"{script}.py" in (ROOT / "tests" / f"{test}.py").read_text("utf-8") or script in test


def _prepare(folder: Path) -> None:
    """A program, and a repository of one commit, which a list of targets names."""
    (folder / "program.py").write_text(PROGRAM)
    mirror = folder / "mirrors" / "owner" / "name"
    clone = folder / "clone"
    clone.mkdir()
    (clone / "convert.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda().numpy()\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *command], cwd=clone, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(clone), str(mirror)], check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True).stdout
    (folder / "targets.csv").write_text(f"repository,revision\n{mirror},{head}")


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
    _prepare(tmp_path)
    _run(script, LONG[script], tmp_path)
