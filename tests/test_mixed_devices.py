"""TNP109: operators that a rehearsal has seen with tensors of two devices, and what these may take from the CPU."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch, rehearse, tonumpy

from tonumpy.rules import all_rules

if TYPE_CHECKING:
    from pathlib import Path

MIXED = """
import torch
import torch.nn.functional as F
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.mean = torch.zeros(3)

    def forward(self, x):
        return self.layer(x - self.mean)  # TNP109


class Square(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context, gradient):
        return gradient * context.saved_tensors[0] * torch.full((3,), 2.0)  # TNP109


x = torch.ones(4, 3, device=device)
there = torch.ones(3, device=device)
here, index, mask = torch.ones(3), torch.tensor([0, 2]), torch.tensor([True, False, True])
labels = torch.zeros(4, dtype=torch.long)
net = Scaled().to(device)
loss = F.cross_entropy(net(x), labels)  # TNP109
loss.backward()
loss = nn.MSELoss()(there, here)  # TNP109
there + here  # TNP109
sum_ = there.clone()
sum_ += here  # TNP109
here.clone().mul_(there)  # TNP109
torch.cat([there, here])  # TNP109
torch.stack([there[0], here[0]])  # TNP109
x @ here  # TNP109
nn.Linear(3, 1)(x)  # TNP109
torch.where(there > 0, there, here)  # TNP109
there.index_select(0, index)  # TNP109
F.embedding(index, x)  # TNP109
F.embedding(index.to(device), torch.ones(3, 2))  # TNP109
there.masked_fill(mask, 0.0)  # TNP109
here[index.to(device)]  # TNP109
here[there > 0]  # TNP109
there[index] = torch.zeros(2)  # TNP109
there == here  # TNP109
(net(x).argmax(1) == labels).sum()  # TNP109
torch.add(here, 1, out=torch.empty(3, device=device))  # TNP109
square = torch.ones(3, device=device, requires_grad=True)
(square * 2).backward(here)  # TNP109
torch.autograd.grad([square * 2], [square], [here])  # TNP109
Square.apply(square).sum().backward()
try:
    there * here
except RuntimeError:
    there * here.to(device)
"""
# What real CUDA takes, by torch's own documentation and code.
TAKEN = """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

device = "cuda" if torch.cuda.is_available() else "cpu"
there, one = torch.ones(4, device=device), torch.tensor(2.0)
index, mask = torch.tensor([0, 2]), torch.tensor([True, False, True, False])
there * one + one
torch.where(there > 0, there, one)
there[index] + there[mask].sum()
there[index] = 1.0
there[mask] = one
there[0:2] = torch.zeros(2)
there.copy_(torch.zeros(4))
there.to(torch.ones(1))
there.expand_as(torch.ones(2, 4)), there.view_as(torch.ones(2, 2)), there.type_as(torch.ones(1))
packed = pack_padded_sequence(torch.ones(2, 3, 4, device=device), torch.tensor([3, 2]), batch_first=True)
output, _ = nn.LSTM(4, 5, batch_first=True).to(device)(packed)
pad_packed_sequence(output)[0].sum().backward()
scores = torch.randn(6, 2, 5, device=device, requires_grad=True)
nn.CTCLoss()(scores.log_softmax(2), torch.ones(2, 3, dtype=torch.long, device=device), torch.tensor([6, 6]),
             torch.tensor([3, 2])).backward()
torch.tensor_split(there, torch.tensor([1, 2]))
net = nn.Linear(4, 1)
optimizer = torch.optim.AdamW(net.to(device).parameters(), foreach=True)
net(there).sum().backward()
nn.utils.clip_grad_norm_(net.parameters(), 1.0)
optimizer.step()
net.load_state_dict({name: value.cpu() for name, value in net.state_dict().items()})
torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged, device=device).sum()
nn.MultiheadAttention(4, 2).to(device)(torch.ones(3, 1, 4, device=device), *[torch.ones(3, 1, 4, device=device)] * 2)
nn.Embedding(3, 2).to(device)(torch.tensor([1], device=device))
torch.distributions.Normal(torch.zeros(2, device=device), 1.0).sample() * torch.tensor(0.5)
torch.multinomial(torch.ones(3, device=device), 2)
torch.ones(3, device=device, requires_grad=True).sum().backward(torch.tensor(1.0))
"""


def _row(beginning: str) -> int:
    return next(row for row, line in enumerate(MIXED.splitlines(), 1) if line.startswith(beginning))


def _marked(text: str) -> list[int]:
    return [row for row, line in enumerate(text.splitlines(), 1) if "# TNP109" in line]


@pytest.mark.slow
@needs_torch
def test_operators_with_tensors_of_two_devices_are_told(tmp_path: Path) -> None:
    (tmp_path / "mixed.py").write_text(MIXED)
    (tmp_path / "main.py").write_text("import mixed\n")
    subprocess.run([sys.executable, "mixed.py"], cwd=tmp_path, check=True)  # fine without an accelerator
    result = rehearse(tmp_path, "--", "main.py")
    assert result.code == 1, result.err
    assert {each["code"] for each in result.findings} == {"TNP109"}
    assert [each["location"]["row"] for each in result.findings] == _marked(MIXED), result.err
    messages = {each["location"]["row"]: each["message"] for each in result.findings}
    made = [_row("there = "), _row("here, index")]
    assert messages[_row("there + here")] == (
        f"tensors of two devices meet: `there`, float32 of shape (3,) on cuda:0, made at mixed.py:{made[0]}; and"
        f" `here`, float32 of shape (3,) on cpu, made at mixed.py:{made[1]}: raises RuntimeError"
    )
    assert "`Linear.weight`, float32 of shape (1, 3) on cpu" in messages[_row("nn.Linear(3, 1)(x)")]


@pytest.mark.slow
@needs_torch
def test_what_an_accelerator_takes_from_the_cpu_is_silent(tmp_path: Path) -> None:
    (tmp_path / "taken.py").write_text(TAKEN)
    result = rehearse(tmp_path, "--", "taken.py")
    assert (result.code, result.findings) == (0, []), result.err


@pytest.mark.slow
@needs_torch
def test_the_example_of_the_rule_is_told_and_stops(tmp_path: Path) -> None:
    page = next(rule.page for rule in all_rules() if rule.code == "TNP109")
    example, instead = (textwrap.dedent(each) for each in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    (tmp_path / "example.py").write_text(example + "print(loss.item())\n")
    result = tonumpy(tmp_path, "rehearse", "--stop", "--", "example.py")
    assert result.code == 1
    assert "TNP109" in result.out
    assert "Expected all tensors to be on the same device" in result.err
    (tmp_path / "example.py").write_text(instead)
    assert rehearse(tmp_path, "--", "example.py").findings == []
