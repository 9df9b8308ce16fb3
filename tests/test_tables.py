"""Join, narrowing, slices, callers and aliases, each as a table that reads as its specification."""

from __future__ import annotations

import ast
import textwrap

import pytest
from reveal import revealed

from tonumpy.engine.names.slices import Slicer
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
    ("body", "asked", "rows"),
    [
        ("a = 1\nb = 2\nc = a", "c", [1, 3]),
        ("a = 1\na = 2", "a", [1, 2]),
        ("a = b\nif c:\n    a = d\ne = f", "a", [1, 2, 3]),
        ("for x in xs:\n    y = x\n    z = 1", "y", [1, 2]),
        ("with torch.no_grad():\n    y = x\nz = 1", "y", [1, 2]),
        ("xs.append(y)\nzs = y", "xs", [1]),
        ("show(a)\nb = a", "b", [1, 2]),
        ("if a:\n    return\nb = 1", "b", [1, 2, 3]),
        ("a.grad = b\nc = d", "a", [1]),
    ],
)
def test_slices(body: str, asked: str, rows: list[int]) -> None:
    """The rows that are run for what a name holds in the end."""
    node = ast.parse(f"def f():\n{textwrap.indent(body, '    ')}").body[0]
    assert isinstance(node, ast.FunctionDef)
    kept = Slicer(node).at_end((asked,)).statements
    assert kept is not None
    statements = [each for each in ast.walk(node) if isinstance(each, ast.stmt) and each is not node]
    assert sorted({each.lineno - 1 for each in statements if id(each) in kept}) == rows


@pytest.mark.parametrize(
    ("definition", "calls", "known"),
    [
        ("def _f(x)", "_f(torch.zeros(3))", "tensor, on cpu, no grad"),
        ("def _f(x)", "_f(torch.zeros(3))\n_f(torch.ones(3).cuda())", "tensor, device unknown, no grad"),
        ("def _f(x)", "_f(torch.zeros(3))\n_f(None)", "tensor or None, on cpu, no grad"),
        ("def _f(x)", "_f(x=torch.zeros(3))", "tensor, on cpu, no grad"),
        ("def _f(x, y=1)", "_f(*[torch.zeros(3)])", "tensor, on cpu, no grad"),
        ("def _f(x)", "with torch.no_grad():\n    _f(torch.zeros(3))", "tensor, on cpu, no grad, mode off"),
        ("def _f(x)", "print(_f)", "unknown, device unknown, grad unknown"),
        ("def f(x)", "f(torch.zeros(3))", "tensor, on cpu, no grad"),
        ("def f(x)", "def g():\n    f(torch.zeros(3))", "tensor, on cpu, no grad"),
        ("def f(x)", "def g():\n    f(torch.ones(3, requires_grad=True))", "unknown, device unknown, grad unknown"),
    ],
)
def test_callers(definition: str, calls: str, known: str) -> None:
    """What a function is given, private or not, by the calls in its module."""
    found = words(f"\n{definition}:\n    x.numpy()\n\n\n{calls}\n")
    assert [each.removesuffix(", mode on") for each in found] == [known]


@pytest.mark.parametrize(
    ("change", "grad"),
    [
        ("x.requires_grad_()", "grad unknown"),
        ("y.requires_grad_()", "with grad"),
        ("x = x + 1", "no grad"),
        ("x.add_(w)", "grad unknown"),
        ("y[0] = w[0]", "with grad"),
        ("z = x.clone()\nz.requires_grad_()", "no grad"),
        ("z = x.view(3)\nz.add_(w)", "grad unknown"),
    ],
)
def test_aliases(change: str, grad: str) -> None:
    """What is known of `y`, another name of `x`, once something was done to one of them."""
    start = "x = torch.zeros(3)\ny = x\nw = torch.ones(3, requires_grad=True)\n"
    (found,) = words(f"\n{start}{change}\ny.numpy()\n")
    assert grad in found
