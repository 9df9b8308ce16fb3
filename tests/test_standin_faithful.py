"""The stand-in refuses and gives what torch's rules foretell of a real device, and what the test device does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from time_limits import PATIENCE

pytest.importorskip("torch")

TESTS = Path(__file__).parent


def _run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=TESTS, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    if "no toolchain" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_fixtures_raise_and_give_what_is_foretold_of_cuda() -> None:
    *problems, last = _run("standin_matrix.py").splitlines()
    assert problems == []
    cells, healed = map(int, last.split())
    assert cells > 2000
    assert healed > 1000


@pytest.mark.slow
def test_arrays_and_tensors_meet_as_on_a_real_device() -> None:
    found, expected = (_run("standin_expressions.py", word).splitlines() for word in ("standin", "toy"))
    assert len(found) > 100
    assert found == expected


@pytest.mark.slow
def test_the_fixtures_raise_where_and_what_they_raise_on_the_test_device() -> None:
    found, expected = (json.loads(_run("standin_beside.py", word)) for word in ("standin", "toy"))
    assert found == expected
    assert len(found) > 2000
    assert sum(bool(each) for each in found.values()) > 1000
