"""What is known of the size of tensors by their spelling alone is what torch makes."""

from __future__ import annotations

import warnings

import pytest
from rehearsal_runs import needs_torch

from tonumpy.sinks.sizes.shape_of import Shapes
from tonumpy.sinks.sizes.shapes_known import One, Shape
from tonumpy.text.sources import source_of

GIVEN = """
import numpy as np
import torch
import torch.nn.functional as F
flat, rows, row = torch.rand(5), torch.rand(2, 3), torch.rand(1, 4)
pictures, single, column, number = torch.rand(1, 3, 4), torch.rand(1), torch.rand(6, 1), torch.tensor(3)
array = np.random.rand(4)
"""
OF_EACH = """
x.unsqueeze(0); x.unsqueeze(-1); x.unsqueeze(1); x.unsqueeze(-2); x[None]; x[None, :]; x[:, None]; x[None, ...]
x[:1]; x[-1:]; x[0:1]; x[0]; x[-1]; x[:, 0]; x[:, :1]; x[:2]; x[0, :1]; x.unsqueeze(0)[0]
x.argmax(); x.argmax(0); x.argmax(1); x.argmax(-1); x.argmax(dim=1); x.argmax(0, keepdim=True); x.argmax(-1, True)
torch.argmax(x, 1); x.max(1)[1]; x.max(-1).indices; torch.max(x, dim=-1, keepdim=True).values; x.max(); x.sum(0)
x.mean(1, keepdim=True); x.topk(1).indices; x.topk(1, dim=0)[1]; torch.topk(x, 1).values; torch.topk(x, k=1, dim=1)[1]
F.softmax(x, dim=-1).argmax(-1); x.squeeze(); x.squeeze(0); x.squeeze(-1); x.squeeze(1); x.unsqueeze(0).squeeze()
x.flatten(); x.view(-1); x.reshape(1, -1); x.reshape(-1, 1); x.flatten(1); x.view(x.size(0), -1); x.T; x * 2; x > 0.5
torch.multinomial(x, 1); x.multinomial(1); x.argsort(); x.sort()[1]; x.sort(0)[0][:1]; x.all(1); x.median(0)[1]
x.unsqueeze(0).argmax(1); x[None].topk(1).indices; x.argmax(1, keepdim=True).squeeze(1); x.ravel()[:1]
"""
MADE = """
torch.tensor([1]); torch.tensor([[1]]); torch.tensor([1, 2]); torch.tensor(1); torch.zeros(1); torch.zeros((1, 3))
torch.randint(0, 3, (1,)); torch.randint(3, (1,)); torch.randint(3, size=(1,)); torch.randint(0, 3, (2, 1))
torch.arange(4)[:1]; torch.full((1,), 2); torch.from_numpy(array); torch.from_numpy(array[None]); torch.tensor([array])
torch.as_tensor(np.expand_dims(array, 0)); torch.tensor([int(number)]); torch.tensor([number.item()])
"""
NAMES = "flat rows row pictures single column number".split()


def expressions() -> list[str]:
    each = [part.strip() for line in OF_EACH.splitlines() for part in line.split(";") if part.strip()]
    made = [part.strip() for line in MADE.splitlines() for part in line.split(";") if part.strip()]
    return [f"(lambda x: {text})({name})" for text in each for name in NAMES] + made


def told_of(expression: str) -> Shape:
    text = expression
    if expression.startswith("(lambda"):
        body, _, name = expression[10:-1].rpartition(")(")
        text = f"x = {name}\nprint({body})"
    else:
        text = f"print({text})"
    source = source_of(f"{GIVEN}{text}\n".encode(), "a.py")
    last = source.tree.body[-1]
    return Shapes(source).shape_of(last.value.args[0], last, source.tree)  # type: ignore[attr-defined]


@needs_torch
def test_no_claim_is_wrong() -> None:
    import torch

    space: dict[str, object] = {}
    exec(GIVEN, space)
    known = 0
    for expression in expressions():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = torch.as_tensor(eval(expression, space))
            except (RuntimeError, IndexError):
                continue
        told = told_of(expression)
        known += told.rank is not None
        assert told.rank in (None, made.dim()), expression
        assert not told.is_first_one or (made.dim() and len(made) == 1), expression
        assert told.believed != One.SURE or (made.dim() and made.numel() == 1), expression
    assert known > 300


@pytest.mark.parametrize(
    "body",
    [
        "if flag:\n    t = t[:1]\nprint(t)",
        "for _ in rows:\n    print(t)\n    t = rows",
        "try:\n    t = rows\nexcept E:\n    pass\nprint(t)",
        "print(t)\nt = t[:1]",
        "t += rows\nprint(t)",
    ],
)
def test_what_may_not_have_been_run_is_not_known(body: str) -> None:
    source = source_of(f"t = torch.rand(1)\n{body}\n".encode(), "a.py")
    printed = next(each for each in _statements(source.tree.body) if "print" in body and _is_print(each))
    told = Shapes(source).shape_of(printed.value.args[0], printed, source.tree)  # type: ignore[attr-defined]
    assert told.believed == (One.SURE if body.startswith("print") else One.UNKNOWN)


def _statements(body: list) -> list:
    return [inner for each in body for inner in [each, *_statements(getattr(each, "body", []))]]


def _is_print(statement: object) -> bool:
    function = getattr(getattr(statement, "value", None), "func", None)
    return getattr(function, "id", "") == "print"
