"""What TNP108 says of operators between arrays and tensors is what they do."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import devices
import operator_table
from operator_table import INDICES, SORTS, Sort

_CASES = [
    pytest.param(sort, device, id=f"{sort.name}, {device}", marks=pytest.mark.cuda if device == "cuda" else ())
    for sort in (*SORTS, *INDICES)
    for device in devices.DEVICES
    if operator_table.is_on_accelerator(sort) is not (device == "cpu")
]


@pytest.mark.parametrize(("sort", "device"), _CASES)
def test_what_raises_is_what_is_reported(sort: Sort, device: str) -> None:
    reason = devices.unavailable(device)
    if reason:
        pytest.skip(f"{reason}: operators between arrays and tensors were not run on {device}")
    assert operator_table.differences(sort, device) == []
