"""What a run tells of how a tensor came to a conversion: which argument, item or list, and what repairs it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch, rehearse, tonumpy

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_torch

PROGRAM = """\
from typing import Any

import numpy as np
import pandas as pd
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"


def under_a_key(batch):
    return np.array(batch["lengths"])  # repaired


def under_two_keys(batch: dict[str, Any]):
    return np.array(batch["events"]["lengths"])  # repaired


def under_each_key(batch):
    return [np.array(batch[key]) for key in batch]  # repaired


def of_a_view(batch):
    return np.concatenate(([1], batch["lengths"][:-1]))  # repaired


def twice(x):
    return np.stack((x, x))  # repaired


def of_unknowns(rows):
    return np.stack([min(rows), max(rows, key=id)])  # TNP104 convert each tensor before it goes into the list


class Log:
    def __init__(self):
        self.losses = []

    def add(self, x):
        self.losses.append(x * 2)


lengths = torch.tensor([3, 2], device=device)
print(under_a_key({"lengths": lengths}), under_two_keys({"events": {"lengths": lengths}}))
print(under_each_key({"a": lengths}), of_a_view({"lengths": lengths}), twice(lengths))
print(globals()["of_unknowns"]([lengths]))  # who calls it is not in sight
log, logs, losses = Log(), {"loss": []}, []
for step in range(16):
    log.add(torch.tensor(float(step), device=device))
    logs["loss"].append(torch.tensor(float(step), device=device))
    losses.append(torch.ones(step % 3 + 1, device=device).sum())
print(np.mean(log.losses))  # TNP104 convert each tensor before it goes into the list
print(np.mean(logs["loss"]))  # TNP104 convert each tensor before it goes into the list
print(np.mean(losses))  # TNP104 convert each tensor before it goes into the list
frame = pd.DataFrame({"a": [1.0, 2.0]})
frame["x"] = lengths  # TNP104 converts
array = np.zeros(2)
array[:] = lengths  # TNP108 converts
"""


@pytest.mark.slow
def test_each_is_told_and_repaired_or_it_is_said_why_not(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    findings = rehearse(tmp_path, "program.py").findings
    rows = PROGRAM.splitlines()
    expected = [row for row, line in enumerate(rows, 1) if "# TNP" in line or "# repaired" in line]
    assert [each["location"]["row"] for each in findings] == expected
    for each, row in zip(findings, expected, strict=True):
        code, _, words = rows[row - 1].partition("# ")[2].partition(" ")
        is_repaired = code == "repaired" or words == "converts"
        assert (each["fix"] is not None) == is_repaired, each["message"]
        assert code in (each["code"], "repaired"), each
        assert words in each["message"], each["message"]
        if "np.stack((x, x))" in rows[row - 1]:
            assert len(each["fix"]["edits"]) == 2


OF_DLPACK = """\
import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"

x = torch.ones(3, requires_grad=True) * 2
print(np.from_dlpack(x))  # TNP104
print(torch.utils.dlpack.from_dlpack(x))  # TNP104
print(np.from_dlpack(x.detach()))
try:
    np.from_dlpack(x)  # the code itself makes it good
except BufferError:
    print("detached", np.from_dlpack(x.detach()))
y = torch.ones(3, device=device)
print(np.from_dlpack(y))  # TNP104 on what has an accelerator
print(np.from_dlpack(y, device="cpu"), torch.from_dlpack(y).device, torch.utils.dlpack.from_dlpack(y).device)
"""


@pytest.mark.slow
def test_what_takes_tensors_by_dlpack(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(OF_DLPACK, "utf-8")
    done = tonumpy(tmp_path, "rehearse", "--output-format=concise", "--", "program.py")
    assert (done.out.count("BufferError"), done.out.count("TNP104")) == (2, 3), done.out
    assert "program.py:7:" in done.out and "program.py:8:" in done.out
    assert re.search(r"program.py:15:.*not on the CPU: (RuntimeError|BufferError)", done.out), done.out
    assert "detached [2. 2. 2.]" in done.out + done.err
