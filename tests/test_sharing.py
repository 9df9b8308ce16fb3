"""What TNP201 and TNP202 say of shared memory, held against real torch: the fixtures' functions are wrong, and healed.

The oracle is the same function where whatever shares memory copies instead, as it does for tensors on an accelerator.
"""

from __future__ import annotations

import ast
import inspect
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import FunctionType
from unittest import mock

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from runtime_matrix import same

from tonumpy import check_source, fix_source
from tonumpy.detectors.shared_calls import side_of
from tonumpy.text.prefilter import SHARERS

FIXTURES = Path(__file__).parent.parent / "fixtures"
SHARES_NUMPY = torch.Tensor.numpy

MEANT = ("clean_missed", "clean_by_default", "clean_for_the_array", "clean_for_the_tensor")

Function = FunctionType


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
        "values": [1.0, 2.0, 3.0],
        "others": [torch.full((3,), 2.0), torch.full((3,), 3.0)],
        "loader": torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(2, 3), torch.zeros(2))),
    }
    return function(*[given[name] for name in inspect.signature(function).parameters])


def copying(self: torch.Tensor) -> object:
    return SHARES_NUMPY(self).copy()


def copied(given: object) -> object:
    return given.copy() if isinstance(given, np.ndarray) else given


@contextmanager
def nothing_shared(function: Function) -> Iterator[None]:
    """NumPy's functions ask for the tensor's `numpy`, or for its memory."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(torch.Tensor, "numpy", copying))
        for name in ("from_numpy", "as_tensor", "asarray", "frombuffer", "from_dlpack"):
            shares = getattr(torch, name)
            copies = partial(lambda shares, given, **named: shares(copied(given), **named), shares)
            stack.enter_context(mock.patch.object(torch, name, copies))
            if function.__globals__.get(name) is shares:
                stack.enter_context(mock.patch.dict(function.__globals__, {name: copies}))
        shares_memory = np.from_dlpack
        stack.enter_context(mock.patch.object(np, "from_dlpack", lambda x: shares_memory(x.clone())))
        yield


def test_the_flagged_functions_are_wrong_on_the_cpu_and_repaired() -> None:
    names = [("TNP201", "written_tensors"), ("TNP201", "handed_on"), ("TNP202", "written_arrays")]
    names += [(rule, name) for rule in ("TNP201", "TNP202") for name in ("other_functions", "written_by_helpers")]
    for rule, name in names:
        original, repaired = functions(rule, name, repaired=False), functions(rule, name, repaired=True)
        assert len(original) >= 2
        for key, function in original.items():
            with nothing_shared(function):
                meant = outcome(function)
            assert not same(outcome(function), meant), f"{rule}, {key}: nothing is wrong"
            assert same(outcome(repaired[key]), meant), f"{rule}, {key}: the repair does not heal"


def test_the_clean_functions_are_right() -> None:
    """But for those that move tensors to CUDA, what nobody asked about, and what is meant."""
    for path in [*FIXTURES.glob("TNP201/clean_*.py"), *FIXTURES.glob("TNP202/clean_*.py")]:
        for key, function in functions(path.parent.name, path.stem, repaired=False).items():
            code = function.__code__
            if "cuda" in (*code.co_names, *code.co_consts) or path.stem in MEANT:
                continue
            with nothing_shared(function):
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


def _shares(function: Function, given: object, kind: type) -> bool:
    """Whether it makes another of this kind that shares the memory of what it is given."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = function(given)
    except Exception:
        return False
    if not isinstance(made, kind) or isinstance(given, kind):
        return False
    arrays = [each.numpy() if isinstance(each, torch.Tensor) else each for each in (given, made)]
    return np.shares_memory(*arrays)


def test_the_functions_that_share_memory_do_so() -> None:
    array, x = np.ones((2, 3)), torch.ones(2, 3)
    for name in SHARERS:
        of_torch, of_numpy = getattr(torch, name, None), getattr(np, name, None)
        of_torch = partial(torch.frombuffer, dtype=torch.float64) if name == "frombuffer" else of_torch
        for owner, function in (("torch", of_torch), ("np", None if name == "frombuffer" else of_numpy)):
            if function is not None:
                call = ast.parse(f"{owner}.{name}(a)", mode="eval").body
                assert isinstance(call, ast.Call)
                made, given = {"tensor": (torch.Tensor, array), "array": (np.ndarray, x)}[side_of(call)]
                assert _shares(function, given, made), f"{owner}.{name}"


def test_no_other_function_is_named_as_one_that_makes_the_other_kind() -> None:
    """But for those that give a view of another shape, or order; `asfortranarray` shares what has one dimension."""
    of_shape = (
        "ascontiguousarray",
        "atleast",
        "diag",
        "flip",
        "ravel",
        "real_if_close",
        "require",
        "rot90",
        "matrix_transpose",
    )
    array, x = np.ones((2, 3)), torch.ones(2, 3)
    for library, given, kind in ((np, x, np.ndarray), (torch, array, torch.Tensor)):
        # Those that set something would set it for the tests that come after: `torch.set_printoptions(array)`.
        names = [name for name in dir(library) if name.islower() and not name.startswith(("_", "set_"))]
        named = {name: getattr(library, name) for name in names}
        functions = {name: each for name, each in named.items() if callable(each) and not isinstance(each, type)}
        found = {name for name, function in functions.items() if _shares(function, given, kind)}
        assert not {name for name in found - set(SHARERS) if not name.startswith(of_shape)}
