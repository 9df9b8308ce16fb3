"""TNP205 and TNP206 in a rehearsal: what takes a tensor for values or for a mask, and nothing else; the program prints
what it prints without us."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rehearsal_runs import needs_torch, rehearse

PROGRAM = Path(__file__).with_name("taken_program.py")


@pytest.mark.slow
@needs_torch
def test_what_is_taken_for_values_is_told(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    shutil.copy(PROGRAM, tmp_path)
    run = rehearse(tmp_path, "--", PROGRAM.name)
    lines = enumerate(PROGRAM.read_text().splitlines(), 1)
    marked = [(row, mark[1]) for row, line in lines if (mark := re.search("# (TNP[0-9]+)$", line))]
    told = {(each["location"]["row"], each["code"]) for each in run.findings}
    assert sorted(told) == marked, run.err
    plain = subprocess.run([sys.executable, "-W", "ignore", PROGRAM.name], cwd=tmp_path, capture_output=True, text=True)
    assert [line for line in plain.stdout.splitlines() if line not in run.err] == []
