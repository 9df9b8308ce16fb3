"""A sample of torch's own operator database gives on the stand-in what it gives on the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")

SCRIPT = Path(__file__).parent.parent / "scripts/standin_operators.py"


@pytest.mark.slow
def test_every_seventh_operator_gives_what_it_gives_on_the_cpu() -> None:
    command = [sys.executable, str(SCRIPT), "--every", "7", "--samples", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    first, *rest = done.stdout.splitlines()
    samples, operators = int(first.split()[0]), int(first.split()[3])
    assert samples > 400 and operators > 90, done.stderr
    assert rest == []
