"""What TNP201 and TNP202 say of shared memory, held against real torch: the fixtures' functions are wrong, and healed.

The oracle is the same function with a `numpy` that always copies, as it does for tensors on an accelerator.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from runtime_matrix import same

from tonumpy import check_source, fix_source

FIXTURES = Path(__file__).parent.parent / "fixtures"
SHARES_NUMPY = torch.Tensor.numpy

Function = Callable[..., object]


def functions(rule: str, name: str, *, repaired: bool) -> dict[str, Function]:
    path = FIXTURES / rule / f"{name}.py"
    text = path.read_text()
    namespace: dict[str, object] = {"__name__": "fixture"}
    with mock.patch("sys.path", [str(path.parent), *sys.path]):
        repaired_text = fix_source(text, str(path), select=[rule], unsafe=True)
        exec(compile(repaired_text if repaired else text, name, "exec"), namespace)
    own = {key: value for key, value in namespace.items() if inspect.isfunction(value) and not key.startswith("_")}
    return {key: value for key, value in own.items() if value.__module__ == "fixture"}


def outcome(function: Function) -> object:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 3)
    model(torch.ones(3)).sum().backward()
    given = {
        "x": torch.tensor([[3.0, -1.0, 2.0], [1.0, 5.0, 0.5]]),
        "y": np.ones((2, 3), np.float32) if "np." in str(inspect.signature(function)) else torch.ones(2, 3),
        "array": np.ones(3),
        "flag": True,
        "steps": 3,
        "model": model,
        "other": torch.nn.Linear(3, 3),
        "observation": torch.ones(3),
        "step": lambda observation: observation + 1,
        "chosen": torch.tensor([1, 0]),
        "batches": [torch.ones(3), torch.zeros(3)],
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "sample": {"score": torch.zeros(3), "label": torch.ones(3)},
        "others": [torch.full((3,), 2.0), torch.full((3,), 3.0)],
        "loader": torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2, 3), torch.zeros(2))),
    }
    return function(*[given[name] for name in inspect.signature(function).parameters])


def copying(self: torch.Tensor) -> object:
    return SHARES_NUMPY(self).copy()


def test_the_flagged_functions_are_wrong_on_the_cpu_and_repaired() -> None:
    names = [("TNP201", "written_tensors"), ("TNP201", "handed_on"), ("TNP201", "from_another_module")]
    for rule, name in [*names, ("TNP202", "written_arrays")]:
        original, repaired = functions(rule, name, repaired=False), functions(rule, name, repaired=True)
        assert len(original) >= 4
        for key, function in original.items():
            with mock.patch.object(torch.Tensor, "numpy", copying):
                meant = outcome(function)
            assert not same(outcome(function), meant), f"{rule}, {key}: nothing is wrong"
            assert same(outcome(repaired[key]), meant), f"{rule}, {key}: the repair does not heal"


def test_the_clean_functions_are_right() -> None:
    """But for those that move tensors to CUDA, what nobody asked about, and what is meant."""
    for path in [*FIXTURES.glob("TNP201/clean_*.py"), *FIXTURES.glob("TNP202/clean_*.py")]:
        for key, function in functions(path.parent.name, path.stem, repaired=False).items():
            if "cuda" in function.__code__.co_names or path.stem in ("clean_by_default", "clean_for_the_tensor"):
                continue
            with mock.patch.object(torch.Tensor, "numpy", copying):
                meant = outcome(function)
            assert same(outcome(function), meant), f"{path.stem}, {key}"


@pytest.mark.parametrize(
    "between",
    [
        "try:\n        x.zero_()\n    finally:\n        pass",
        "for _ in range(3):\n        x.zero_()",
        "while flag:\n        if flag:\n            x.zero_()\n            break",
        "with torch.no_grad():\n        x.zero_()",
        "match flag:\n        case 1:\n            x.zero_()",
        "x.view(-1).zero_()",
        "y = x[0]\n    y += 1",
        "x.data[0] = 1",
    ],
)
def test_where_the_write_stands(between: str) -> None:
    text = (
        f"import torch\ndef f(x: torch.Tensor, flag):\n    a = x.detach().cpu().numpy()\n    {between}\n    return a\n"
    )
    assert [finding.code for finding in check_source(text, select=["TNP201"])] == ["TNP201"]


def test_code_that_is_nested_too_deeply_is_left_alone() -> None:
    total = " + ".join(["x"] * 900)
    text = f"import torch\ndef f(x: torch.Tensor):\n    a = x.detach().numpy()\n    b = {total}\n    return a\n"
    assert [finding.code for finding in check_source(text)] == ["TNP103"]
