"""TNP206 in a rehearsal: what takes a tensor for values, and nothing else."""

from __future__ import annotations

import shutil
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
    marked = [row for row, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith("# TNP206")]
    told = {(each["location"]["row"], each["code"]) for each in run.findings}
    assert sorted(told) == [(row, "TNP206") for row in marked], run.err
