"""A defect of ours ends no report of a rehearsal: it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch, rehearse, tonumpy

from tonumpy.config import Settings
from tonumpy.rehearsal import judging
from tonumpy.rehearsal.events import Call, Event
from tonumpy.rehearsal.spool import Run

if TYPE_CHECKING:
    from pathlib import Path


IN = """
import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
value, array = torch.tensor(3, device=device), np.arange(5)
print(value in array)  # TNP108
print(value not in array)  # TNP108
print(array[0] in [value.item()], value in [1, 3])
for each in (value, 7):
    if each in array:  # TNP108
        print(each)
print(list(filter(array.__contains__, [value])))  # TNP104
"""


@pytest.mark.slow
@needs_torch
def test_a_tensor_is_looked_for_in_an_array(tmp_path: Path) -> None:
    (tmp_path / "within.py").write_text(IN)
    result = rehearse(tmp_path, "--", "within.py")
    rows = [(row, line.split()[-1]) for row, line in enumerate(IN.splitlines(), 1) if "# TNP" in line]
    assert [(each["location"]["row"], each["code"]) for each in result.findings] == rows, result.err
    assert result.code == 1


def test_a_defect_in_one_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "program.py"
    path.write_text("a = f(x)\nb = g(y)\nc = h(z)\n")
    events = tuple(_event(str(path), row) for row in (1, 2, 3))

    def failing(*_: object) -> tuple[int, tuple[()]]:
        raise KeyError("what nobody thought of")

    monkeypatch.setattr(judging, "reached_in", failing)
    judged = judging.judge_run(Run(events, (), "", ()), lambda _: Settings(), fragile=False)
    assert [error.reason for error in judged.errors] == [
        "internal error, please report it: KeyError: 'what nobody thought of'"
    ]


def _event(filename: str, row: int) -> Event:
    stack = (Call(filename, row, "<module>", row, 4, 8),)
    event = Event(
        "array", ("device",), "cuda:0", False, True, "torch.float32", "torch.strided", (2,), stack, ("TypeError", "no")
    )
    return event._replace(own=0)


VMAP = """
import torch

x = torch.ones(3, 2)
print(torch.vmap(lambda row: row * 2)(x).numpy().sum())
torch.vmap(lambda row: torch.from_numpy(row.numpy()))(x)
"""


@needs_torch
def test_what_the_program_itself_raised_is_told_first(tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(VMAP)
    result = tonumpy(tmp_path, "rehearse", "--", "learn.py")
    first, second, *_ = result.out.splitlines()
    assert first.startswith("The program ended with RuntimeError: ") and first.endswith(" at learn.py:6."), result.out
    assert second == "No other conversion that ran would fail."


GRAD = """
import torch

torch.func.grad(lambda row: row.sum() * float(row.numpy().sum()))(torch.ones(3))
"""


@needs_torch
def test_no_link_is_offered_within_a_transform(tmp_path: Path) -> None:
    (tmp_path / "learn.py").write_text(GRAD)
    result = tonumpy(tmp_path, "rehearse", "--", "learn.py")
    told = "learn.py:4:51: TNP101 `.numpy()` on a tensor within `torch.func.grad` (line 4): RuntimeError"
    assert told in result.out.splitlines(), result.out
    assert "fix" not in result.out
