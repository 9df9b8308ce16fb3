"""Shell completion: what `--print-completion` writes is sourced by a real bash, which then completes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

COMPLETE = """\
source ./completion
COMP_WORDS=({words}) COMP_CWORD=$(({count} - 1))
_shtab_tonumpy
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is missing")
def test_bash_completes_commands_options_and_files(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    script = run_tonumpy("--print-completion", "bash")
    assert (script.code, script.err) == (0, "")
    (tmp_path / "completion").write_text(script.out)
    (tmp_path / "module.py").write_text("")

    def completed(words: str) -> list[str]:
        program = COMPLETE.format(words=words, count=len(words.split()))
        return subprocess.run(
            ["bash", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.split()

    assert completed("tonumpy ch") == ["check"]
    assert completed("tonumpy check --stric") == ["--strict"]
    assert completed("tonumpy fix --unsafe") == ["--unsafe-fixes"]
    assert completed("tonumpy check mod") == ["module.py"]


def test_what_cannot_be_completed_is_said(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    result = run_tonumpy("--print-completion", "elvish")
    assert result.code == 2
    assert "unknown shell `elvish`; known are bash, zsh, tcsh" in result.err
    (tmp_path / "shtab.py").write_text("raise ImportError\n")
    command = [sys.executable, "-m", "tonumpy", "--print-completion", "bash"]
    hiding = {**os.environ, "PYTHONPATH": str(tmp_path)}
    without = subprocess.run(command, env=hiding, capture_output=True, text=True)
    assert without.returncode == 2
    assert "needs shtab: in a clone of tonumpy, run `pip install '.[completion]'`" in without.stderr
