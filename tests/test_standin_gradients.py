"""A gradient that ends in NumPy is told of where the run trained on nothing else, and nowhere else."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from standin_runs import run
from test_rehearse import rehearse

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
    import numpy as np
    import torch
    net = torch.nn.Linear(2, 1).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    x, log = torch.ones(4, 2).cuda(), []

    class Trainer:
        def step(self):
            self.out = net(x)
            array = self.out.detach().cpu().numpy()  # lost
            log.append(self.out.detach().cpu().numpy())
            self.array = np.abs(array)
            return self.array

    def criterion(one, other):
        return torch.nn.functional.mse_loss(one, other)

    def train():
        trainer = Trainer()
        for _ in range(3):
            optimizer.zero_grad()
            guess = torch.as_tensor(trainer.step()).requires_grad_()
            loss = criterion(guess, torch.zeros(4, 1))
            loss.backward()
            optimizer.step()
            log.append(loss.item())

    def attack():
        image = torch.tensor(net(x).detach().cpu().numpy(), requires_grad=True)
        (image ** 2).sum().backward()
        return image.grad.sign()

    def by_hand():
        w = torch.zeros(4, 1, requires_grad=True)
        target = torch.from_numpy(net(x).detach().cpu().numpy())
        for _ in range(2):
            loss = ((w - target) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None

    def distil():
        target = torch.from_numpy(net(x).detach().cpu().numpy()).cuda()
        student = torch.nn.Linear(2, 1).cuda()
        (student(x) - target).pow(2).mean().backward()

    def latent():
        z = torch.tensor([value.item() for value in net(x)], requires_grad=True)
        z.pow(2).sum().backward()
        torch.optim.Adam([z]).step()

    def items():
        outs = [net(row[None]).item() for row in x]  # lost
        torch.tensor(outs, requires_grad=True).mean().backward()

    def number():
        loss = net(x).mean()
        print(float(loss))
        value = float(loss)  # lost
        torch.tensor(value, requires_grad=True).backward()

    def data():
        kept = net(x).data
        a = np.mean(kept.cpu().numpy())  # lost
        right = (kept.cpu().numpy().argmax(1) == 0).mean()
        torch.tensor(a, requires_grad=True).backward()
        torch.tensor(float(right), requires_grad=True).backward()

    def helper(tensor):
        return tensor.detach().cpu().numpy()  # lost

    def through(array, weight=1.0):
        loss = torch.tensor(array * weight).sum().requires_grad_()
        loss.backward()

    def refused():
        loss = torch.tensor(np.mean(net(x).detach().cpu().tolist()))  # a list, of what has no history any more
        other = torch.tensor(np.mean(net(x).detach().cpu().numpy()))  # lost
        try:
            other.backward()
        except RuntimeError as error:
            print(str(error)[:33])

    for function in (train, attack, by_hand, distil, latent, items, number, data, refused):
        function()
    print(helper(net.weight).shape)
    through(helper(net(x)))
"""


def _marked(text: str) -> set[int]:
    return {row for row, line in enumerate(textwrap.dedent(text).splitlines(), 1) if line.endswith("# lost")}


@pytest.mark.slow
def test_a_gradient_that_ends_in_numpy_is_told_of(tmp_path: Path) -> None:
    done = run(PROGRAM, tmp_path)
    assert done.code == 0, done.errors
    assert "element 0 of tensors does not" in done.output
    assert {told.row for told in done.told if told.way == "lost gradient"} == _marked(PROGRAM)
    assert "not told of" not in done.errors
    assert "Converting a tensor with requires_grad" not in done.errors


LATER = """
import numpy as np
import torch

net, x = torch.nn.Linear(2, 1), torch.ones(4, 2)
guess = torch.tensor(net(x).detach().numpy(), requires_grad=True)  # TNP203
guess.pow(2).mean().backward()
position, frames = torch.zeros(2), []
for _ in range(4):
    position.add_(1)
    frames.append(position.numpy())  # TNP201
"""


@pytest.mark.slow
def test_what_comes_of_a_conversion_later_is_a_finding(tmp_path: Path) -> None:
    """The end of the program decides that nobody reads the gradient of `guess`."""
    (tmp_path / "learn.py").write_text(LATER)
    found = {(each["location"]["row"], each["code"]) for each in rehearse(tmp_path, "--", "learn.py").findings}
    rows = enumerate(LATER.splitlines(), 1)
    assert found == {(row, line.partition("# ")[2]) for row, line in rows if "# TNP" in line}
