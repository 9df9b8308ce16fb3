"""The table that the rules rest on holds for this torch: a release that changes a cell turns it red."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import devices
import torch
import truth_table
from truth_table import Outcome, Raises, Row

_DEVICES = [pytest.param(device, marks=pytest.mark.cuda if device == "cuda" else ()) for device in devices.DEVICES]


@pytest.mark.parametrize("device", _DEVICES)
def test_every_cell(device: str) -> None:
    reason = devices.unavailable(device)
    if reason:
        count = sum(len(row.outcomes) for row in truth_table.ACCELERATOR)
        pytest.skip(f"{reason}: {count} cells of the truth table were not run on {device}")
    cells = list(truth_table.run_table(device))
    assert cells
    assert not [str(cell) for cell in cells if cell.problem]


def test_a_cell_that_torch_changes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong_type = Raises(ValueError, "Can't call numpy() on Tensor that requires grad.")
    wrong_words = Raises(RuntimeError, "Cannot call numpy()")
    outcomes: tuple[Outcome, ...] = (wrong_type, wrong_words, "copies", truth_table.GRAD, "shares", "shares")
    row = Row("requires grad", lambda device: torch.ones(3, device=device, requires_grad=True), outcomes)
    monkeypatch.setattr(truth_table, "CPU", (row,))
    problems = [cell.problem for cell in truth_table.run_table("cpu") if cell.row == row.name]
    assert [problem is None for problem in problems] == [False, False, False, False, True, False]
