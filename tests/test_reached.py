"""What a rehearsal says of the conversions that did not run, in all processes, and of what it cannot see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch, tonumpy

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_torch

SINKS = """\
import numpy as np
import torch


def both(x: torch.Tensor, wanted=False):
    a = np.ones(2)
    if wanted:
        a[:] = x
        np.linalg.norm(x.cuda())
        return a - x, x.numpy()
    return np.stack([x, x])


w = torch.ones(2, requires_grad=True)
both(w)
getattr(w, "numpy")()
"""


def test_all_conversions_that_a_check_knows_are_counted(tmp_path: Path) -> None:
    """Calls of `.numpy()`, functions that convert what they are given, operators and indices."""
    (tmp_path / "sinks.py").write_text(SINKS)
    told = tonumpy(tmp_path, "rehearse", "--unreached", "sinks.py").out
    lines = [line for line in told.splitlines() if line.endswith(("did not run", "converted no tensor"))]
    assert lines == [
        "sinks.py:8:16: this converted no tensor",
        "sinks.py:9:24: `np.linalg.norm` converted no tensor",
        "sinks.py:10:20: this converted no tensor",
        "sinks.py:10:25: did not run",
    ]
    assert "2 of 6 conversions in 1 file ran; 4 did not.\n" in told


CONVERTING = "import torch\n\n\ndef convert(x: torch.Tensor):\n    return x.numpy()\n"
FORKS = """\
import multiprocessing, sys, torch

def work(n):
    import converting

if __name__ == "__main__":
    process = multiprocessing.get_context(sys.argv[1]).Process(target=work, args=(1,))
    process.start()
    process.join()
"""
EXECS = """\
import os, sys, torch
if len(sys.argv) == 1:
    import converting
    os.execv(sys.executable, [sys.executable, __file__, "again"])
sys.exit(4)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words", "how"),
    [
        (FORKS, ("fork",), "ended with exit code 0."),
        (FORKS, ("spawn",), "ended with exit code 0."),
        (EXECS, (), "ended with exit code 4."),
        ("import converting, os; os._exit(3)", (), "ended with exit code 3."),
        ("import converting, os; os.kill(os.getpid(), 9)", (), "was ended by SIGKILL; what else it had loaded is not"),
    ],
    ids=["forks", "spawns", "is another then", "leaves at once", "is killed"],
)
def test_files_of_all_processes_are_known_where_nothing_happened(
    tmp_path: Path, text: str, words: tuple[str, ...], how: str
) -> None:
    (tmp_path / "converting.py").write_text(CONVERTING)
    (tmp_path / "program.py").write_text(text)
    told = tonumpy(tmp_path, "rehearse", "--unreached", "program.py", *words).out
    assert f"The program {how}" in told
    assert ("converting.py:5:14: did not run\n" in told) == ("SIGKILL" not in how)
