"""What a person reads: what is missing or shared, where, and the shortest repair."""

from __future__ import annotations

from textwrap import indent

import pytest

from tonumpy import check_source

HEAD = """\
import numpy as np
import matplotlib.pyplot as plt
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def f(x: torch.Tensor, unknown, w: torch.Tensor, path: str):
"""
DOUBTED = "`.numpy()` on a tensor that may require grad and may be on an accelerator"
PLOTS = "`plt.plot` makes an array of "
SHARES = "`.numpy()` shares memory with the tensor: "


@pytest.mark.parametrize(
    ("body", "code", "message", "repair"),
    [
        (
            "x.numpy()",
            "TNP101",
            "`.numpy()` on a tensor that may require grad and may be on an accelerator",
            "Add `.detach().cpu()`",
        ),
        (
            "unknown.numpy()",
            "TNP101",
            "`.numpy()` on what may be a tensor that may require grad and may be on an accelerator",
            "Add `.detach().cpu()`",
        ),
        (
            "loss = torch.tensor(x.numpy().mean(), requires_grad=True)\nloss.backward()",
            "TNP101",
            f"{DOUBTED}; line 9 trains on a loss made of its array alone, which has no gradient",
            "Add `.detach().cpu()`",
        ),
        (
            "unknown.unsqueeze(0).cpu().numpy()",
            "TNP102",
            "`.cpu()` without `.detach()` before `.numpy()` on what reads as a tensor that may require grad",
            "Add `.detach()`",
        ),
        (
            "x.to(device='cpu').numpy()",
            "TNP102",
            '`.to("cpu")` without `.detach()` before `.numpy()` on a tensor that may require grad',
            "Add `.detach()`",
        ),
        (
            "x.detach().cpu().mul(w.cpu()).numpy()",
            "TNP102",
            "`.cpu()` without `.detach()` after `.mul(...)` on a tensor that may require grad",
            "Add `.detach()`",
        ),
        (
            "x.data.numpy()",
            "TNP103",
            "`.data` without `.cpu()` before `.numpy()` on a tensor that may be on an accelerator",
            "Replace `.data` by `.detach()` and add `.cpu()`",
        ),
        (
            "x.detach().cpu().cuda().numpy()",
            "TNP103",
            "`.detach()` without `.cpu()` after `.cuda()` on a tensor that is on an accelerator",
            "Add `.cpu()`",
        ),
        (
            "np.asarray(x.cuda())",
            "TNP104",
            "`np.asarray` makes an array of a tensor that is on an accelerator, which raises",
            "Add `.detach().cpu().numpy()`",
        ),
        (
            "plt.plot(x.to(device))",
            "TNP104",
            PLOTS + "a tensor that is on a device chosen at run time, which raises unless that is the CPU",
            "Add `.detach().cpu().numpy()`",
        ),
        (
            "y = torch.ones(3, requires_grad=True)\nplt.plot(y.cpu())",
            "TNP104",
            PLOTS + "a tensor that requires grad, which raises",
            "Add `.detach()` and add `.numpy()`",
        ),
        (
            "seen, loss = [], x.sum()\nfor _ in range(3):\n    loss.backward()\n    seen.append(loss)\nplt.plot(seen)",
            "TNP104",
            PLOTS + "a list of tensors; each requires grad, which raises: convert each when it is added",
            None,
        ),
        (
            "a = x.detach().cpu().numpy()\nx.zero_()\nreturn a",
            "TNP201",
            SHARES + "line 9 writes the tensor, then line 10 reads the array",
            "Add `.copy()` after `.numpy()`",
        ),
        (
            "seen = []\nfor _ in range(3):\n    x.mul_(2)\n    seen.append(x.detach().cpu().numpy())\nreturn seen",
            "TNP201",
            SHARES + "line 10 writes the tensor in the next round of the loop, then line 12 reads the array",
            "Add `.copy()` after `.numpy()`",
        ),
        (
            "unknown.seen = x.detach().cpu().numpy()\nself = unknown\nself.seen = unknown.seen\nx.zero_()",
            "TNP201",
            SHARES + "line 11 writes the tensor, and `self.seen` still holds the array",
            "Add `.copy()` after `.numpy()`",
        ),
        (
            "a = x.detach().cpu().numpy()\na.sort()\nreturn x",
            "TNP202",
            SHARES + "line 9 writes the array, then line 10 reads the tensor",
            "Add `.copy()` after `.numpy()`",
        ),
    ],
)
def test_the_message_and_the_repair(body: str, code: str, message: str, repair: str | None) -> None:
    findings = check_source(HEAD + indent(body, "    "), select=[code])
    assert [(each.message, each.fix and each.fix.message) for each in findings] == [(message, repair)]
