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


@pytest.mark.parametrize("device", _DEVICES[1:])
@pytest.mark.parametrize("layer", [torch.nn.Linear(3, 3), torch.nn.Bilinear(3, 3, 3)])
def test_a_layer_refuses_what_is_not_where_its_parameters_are(device: str, layer: torch.nn.Module) -> None:
    reason = devices.unavailable(device)
    if reason:
        pytest.skip(f"{reason}: no layer was given a tensor of {device}")
    inputs = [torch.ones(3, 3, device=device)] * (2 if isinstance(layer, torch.nn.Bilinear) else 1)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        layer(*inputs)
