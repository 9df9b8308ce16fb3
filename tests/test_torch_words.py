"""What torch says reaches the program as torch says it: warnings at the program's own lines, errors with its device."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch, tonumpy
from time_limits import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_torch

WARNS = """\
import sys, warnings
import numpy as np
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.ones(2, 3, device=device)

def warn(x):
    torch.add(x, x, out=torch.empty(3, 2, device=device))
    torch.add(x, x, out=torch.empty(1, 2, device=device))
    x.T.T[0].T
    torch.nn.functional.softmax(x)
    torch.tensor(x)

warn(x)
warn(x)
y = torch.ones(2, 3, device=device, requires_grad=True)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    warn(x)
    y.sum().backward(create_graph=True)
print(sorted((each.category.__name__, each.filename.rpartition("/")[2], each.lineno) for each in seen))
try:
    x[0:2] = np.ones((2, 3))
except TypeError as error:
    print(str(error).replace("torch.cuda.", "torch."))
warnings.simplefilter("error")
try:
    warn(x)
except UserWarning as error:
    print("error:", str(error)[:40])
warn(x)
"""
WORKER = """\
import torch

class Broken(torch.utils.data.Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, index):
        raise ValueError("this is broken")

for _ in torch.utils.data.DataLoader(Broken(), num_workers=1):
    pass
"""


@pytest.mark.slow
def test_warnings_and_errors_are_those_of_torch(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WARNS)
    alone = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    rehearsed = tonumpy(tmp_path, "rehearse", "-q", "-o", "report.txt", "program.py")
    assert (rehearsed.code, rehearsed.out) == (alone.returncode, alone.stdout), rehearsed.err
    assert _without_sources(rehearsed.err) == _without_sources(alone.stderr)


def _without_sources(text: str) -> list[str]:
    """Leave out the lines of C++ that warnings name, and the frames of the stand-in in a traceback."""
    text = re.sub(r"\(Triggered internally at [^)]*\)", "", text)
    return re.sub(r'  File "[^"]*/tonumpy/rehearsal/.*\n(    .*\n)+', "", text).splitlines()


def test_an_error_of_a_worker_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WORKER)
    told = tonumpy(tmp_path, "rehearse", "-o", "report.txt", "program.py").out
    said = (
        "The program ended with ValueError: Caught ValueError in DataLoader worker process 0. ... ValueError: this is "
    )
    assert f"\n{said}broken at program.py:10" in told, told
