"""Join, narrowing, slices, callers and aliases, each as a table that reads as its specification."""

from __future__ import annotations

import textwrap

import pytest
from reveal import revealed

from tonumpy.engine.values.joins import join
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.values import (
    NONE,
    NOTHING,
    Constant,
    Mapping,
    NonTensor,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
)
from tonumpy.text.source import Source

CPU, GPU, DETACHED, LEARNT = Tensor(True), Tensor(False), Tensor(requires_grad=False), Tensor(requires_grad=True)
LIKELY = Tensor(certainty="likely")


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (NOTHING, CPU, CPU),
        (CPU, CPU, CPU),
        (CPU, GPU, Tensor()),
        (CPU, Tensor(), Tensor()),
        (DETACHED, LEARNT, Tensor(param_taint=True)),
        (Tensor(True, False), Tensor(True, True), Tensor(True, param_taint=True)),
        (Tensor(dtype="int64"), Tensor(dtype="int64"), Tensor(dtype="int64")),
        (Tensor(dtype="int64"), Tensor(dtype="float32"), Tensor()),
        (Tensor(), LIKELY, LIKELY),
        (CPU, NONE, Union((CPU, NONE))),
        (CPU, NonTensor("int"), Union((CPU, NonTensor("int")))),
        (Constant(1), Constant(1), Constant(1)),
        (Sequence((CPU,), CPU), Sequence((GPU,), GPU), Sequence((Tensor(),), Tensor())),
        (Sequence((CPU,), CPU), Sequence((CPU, CPU), CPU), Sequence(None, CPU)),
        (Mapping((("x", CPU),)), Mapping((("x", GPU),)), Mapping((("x", Tensor()),))),
        (Symbol("torch.zeros"), Symbol("torch.ones"), Union((Symbol("torch.zeros"), Symbol("torch.ones")))),
    ],
)
def test_join(one: Value, other: Value, both: Value) -> None:
    assert join(one, other) == both
    assert join(other, one) == (Union(both.members[::-1]) if isinstance(both, Union) else both)


def test_nothing_is_below_all_and_unknown_above() -> None:
    for value in (CPU, NONE, NonTensor("int"), Sequence((CPU,), CPU), Unknown(Reason.PARAMETER)):
        assert join(NOTHING, value) == join(value, NOTHING) == join(value, value) == value
    joined = join(Unknown(Reason.PARAMETER, True, False), CPU)
    assert isinstance(joined, Union)
    assert joined.members == (Unknown(Reason.PARAMETER, True, False), CPU)


def words(code: str) -> list[str]:
    """What is known of each receiver of `.numpy()` in a module that imports torch."""
    source = Source.from_text(f"import torch\n{textwrap.dedent(code)}", "example.py")
    return [str(claim) for _, claim in revealed(source)]


TENSOR = "tensor, device unknown, grad unknown"


@pytest.mark.parametrize(
    ("test", "where_it_holds", "elsewhere"),
    [
        ("torch.is_tensor(x)", TENSOR, "unknown"),
        ("isinstance(x, torch.Tensor)", TENSOR, "unknown"),
        ("not isinstance(x, torch.Tensor)", "unknown", TENSOR),
        ("x.is_cuda", "off cpu", "on cpu"),
        ("x.is_cpu", "on cpu", "off cpu"),
        ("x.device.type == 'cpu'", "on cpu", "off cpu"),
        ("x.device.type != 'cpu'", "off cpu", "on cpu"),
        ("x.requires_grad", "with grad", "no grad"),
        ("not x.requires_grad", "no grad", "with grad"),
        ("x.is_cpu and not x.requires_grad", "on cpu, no grad", "device unknown, grad unknown"),
        ("not x.is_cpu or x.requires_grad", "device unknown, grad unknown", "on cpu, no grad"),
    ],
)
def test_narrowing(test: str, where_it_holds: str, elsewhere: str) -> None:
    parameter = "x" if "ten" in test.lower() else "x: torch.Tensor"
    found = words(f"""
        def f({parameter}):
            if {test}:
                x.numpy()
            else:
                x.numpy()
    """)
    assert len(found) == 2
    assert (where_it_holds in found[0], elsewhere in found[1]) == (True, True), found


@pytest.mark.parametrize(
    ("definition", "calls", "known"),
    [
        ("def _f(x)", "_f(torch.zeros(3))", "tensor, on cpu, no grad"),
        ("def _f(x)", "_f(torch.zeros(3))\n_f(torch.ones(3).cuda())", "tensor, device unknown, no grad"),
        ("def _f(x)", "_f(x=torch.zeros(3))", "tensor, on cpu, no grad"),
        ("def _f(x, y=1)", "_f(*[torch.zeros(3)])", "tensor, on cpu, no grad"),
        ("def _f(x)", "with torch.no_grad():\n    _f(torch.zeros(3))", "tensor, on cpu, no grad, mode off"),
        ("def _f(x)", "print(_f)", "unknown, device unknown, grad unknown"),
        ("def f(x)", "f(torch.zeros(3))", "tensor, on cpu, no grad"),
        ("def f(x)", "def g():\n    f(torch.ones(3, requires_grad=True))", "unknown, device unknown, grad unknown"),
    ],
)
def test_callers(definition: str, calls: str, known: str) -> None:
    """What a function is given, private or not, by the calls in its module."""
    found = words(f"\n{definition}:\n    x.numpy()\n\n\n{calls}\n")
    assert [each.removesuffix(", mode on") for each in found] == [known]
