"""What a person reads: what is missing or shared, where, and the shortest repair."""

from __future__ import annotations

from textwrap import indent

import pytest

from tonumpy import check_source

HEAD = """\
import numpy as np
import matplotlib.pyplot as plt
import torch
from torch import nn
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def f(x: torch.Tensor, unknown, w: torch.Tensor, path: str):
"""
DOUBTED = "`.numpy()` on a tensor that may require grad or be on a GPU: can raise RuntimeError or TypeError"
PLOTS = "`plt.plot` converts "
SHARES = "`.numpy()` shares memory with the tensor: "


@pytest.mark.parametrize(
    ("body", "code", "message", "repair"),
    [
        (
            "x.numpy()",
            "TNP101",
            DOUBTED,
            "Add `.detach().cpu()`",
        ),
        (
            "unknown.numpy()",
            "TNP101",
            (
                "`.numpy()` on a possible tensor (type unknown); it may require grad or be on a GPU:"
                " can raise RuntimeError or TypeError"
            ),
            "Add `.detach().cpu()`",
        ),
        (
            "loss = torch.tensor(x.numpy().mean(), requires_grad=True)\nloss.backward()",
            "TNP101",
            (
                f"{DOUBTED}; the loss of line 9 is computed only from the array `x.numpy()`,"
                " so no gradient reaches the model: compute the loss with torch"
            ),
            "Add `.detach().cpu()`",
        ),
        (
            "torch.ones(3, requires_grad=True).numpy()",
            "TNP101",
            "`.numpy()` on a tensor that requires grad: raises RuntimeError while grad mode is on",
            "Add `.detach().cpu()`",
        ),
        (
            "with torch.enable_grad():\n    torch.ones(3, requires_grad=True).numpy()",
            "TNP101",
            "`.numpy()` on a tensor that requires grad: raises RuntimeError",
            "Add `.detach().cpu()`",
        ),
        (
            "nn.Parameter(x).numpy()",
            "TNP101",
            (
                "`.numpy()` on a tensor that requires grad and may be on a GPU:"
                " raises TypeError on a GPU, RuntimeError on the CPU while grad mode is on"
            ),
            "Add `.detach().cpu()`",
        ),
        (
            "unknown.seen.unsqueeze(0).cpu().numpy()",
            "TNP102",
            (
                "`.cpu()` without `.detach()` before `.numpy()` on a likely tensor that may require grad:"
                " can raise RuntimeError"
            ),
            "Add `.detach()`",
        ),
        (
            "x.to(device='cpu').numpy()",
            "TNP102",
            (
                '`.to("cpu")` without `.detach()` before `.numpy()` on a tensor that may require grad:'
                " can raise RuntimeError"
            ),
            "Add `.detach()`",
        ),
        (
            "x.detach().cpu().mul(w.cpu()).numpy()",
            "TNP102",
            (
                "`.mul(...)` can undo the detach, because its argument may require grad;"
                " `.numpy()` on a tensor that may require grad: can raise RuntimeError; detach after `.mul(...)`"
            ),
            "Add `.detach()`",
        ),
        (
            "x.detach().lerp(w, unknown).cpu().numpy()",
            "TNP102",
            (
                "`.lerp(...)` can undo the detach, because one of its arguments may require grad;"
                " `.numpy()` on a tensor that may require grad: can raise RuntimeError; detach after `.lerp(...)`"
            ),
            "Add `.detach()`",
        ),
        (
            "x.cpu().detach().requires_grad_().numpy()",
            "TNP102",
            (
                "`.requires_grad_()` undoes the detach; `.numpy()` on a tensor that requires grad:"
                " raises RuntimeError while grad mode is on; detach after `.requires_grad_()`"
            ),
            "Add `.detach()`",
        ),
        (
            "x.data.numpy()",
            "TNP103",
            "`.data` without `.cpu()` before `.numpy()` on a tensor that may be on a GPU: can raise TypeError",
            "Add `.cpu()`",
        ),
        (
            "x.detach().cpu().cuda().numpy()",
            "TNP103",
            "`.cuda()` undoes the move to the CPU; `.numpy()` on a tensor that is not on the CPU: raises TypeError",
            "Add `.cpu()`",
        ),
        (
            "w.cuda().numpy()",  # torch looks at the device first
            "TNP101",
            "`.numpy()` on a tensor that may require grad and is not on the CPU: raises TypeError",
            "Add `.detach().cpu()`",
        ),
        (
            "np.asarray(x.cuda())",
            "TNP104",
            "`np.asarray` converts a tensor that is not on the CPU, so NumPy raises TypeError",
            "Add `.detach().cpu().numpy()` to `x.cuda()`",
        ),
        (
            "plt.plot(x.to(device))",
            "TNP104",
            PLOTS + "a tensor that is on a device chosen at run time (`device`, line 5): NumPy raises TypeError"
            " if that is a GPU",
            "Add `.detach().cpu().numpy()` to `x.to(device)`",
        ),
        (
            "import holoviews as hv\nhv.Curve(x.cuda())",
            "TNP104",
            (
                "`hv.Curve` converts a tensor that is not on the CPU,"
                " so it raises holoviews.core.data.interface.DataError"
            ),
            "Add `.detach().cpu().numpy()` to `x.cuda()`",
        ),
        (
            "import pyarrow as pa\npa.array(torch.ones(3))",
            "TNP104",
            (
                "`pa.array` is passed a tensor, which always raises `pyarrow.lib.ArrowInvalid` (Could not convert"
                " tensor with type Tensor: did not recognize Python ...)"
            ),
            "Add `.detach().cpu().numpy()` to `torch.ones(3)`",
        ),
        (
            "y = torch.ones(3, requires_grad=True)\nplt.plot(y.cpu())",
            "TNP104",
            PLOTS + "a tensor that requires grad, so NumPy raises RuntimeError while grad mode is on",
            "Add `.detach()` and `.numpy()`",
        ),
        (
            'import pandas\nd = {"a": x.cuda(), "b": x.cuda()}\npandas.DataFrame(d)',
            "TNP104",
            (
                "`pandas.DataFrame` converts a dict of tensors where each is not on the CPU, so NumPy raises TypeError;"
                " convert each tensor before it goes into the dict"
            ),
            None,
        ),
        (
            "with torch.enable_grad():\n    plt.plot(torch.ones(3, requires_grad=True))",
            "TNP104",
            PLOTS + "a tensor that requires grad, so NumPy raises RuntimeError",
            "Add `.detach().cpu().numpy()` to `torch.ones(3, requires_grad=True)`",
        ),
        (
            "seen, loss = [], x.sum()\nfor _ in range(3):\n    loss.backward()\n    seen.append(loss)\nplt.plot(seen)",
            "TNP104",
            PLOTS + "a list of tensors where each requires grad, so NumPy raises RuntimeError while grad mode is on;"
            " convert each tensor before it goes into the list",
            None,
        ),
        (
            "seen = []\nfor _ in range(3):\n    seen.insert(0, x.cuda())\nplt.plot(seen)",
            "TNP104",
            PLOTS + "a list of tensors where each is not on the CPU, so NumPy raises TypeError;"
            " convert each tensor before it goes into the list",
            None,
        ),
        (
            "seen = []\nfor _ in range(3):\n    seen.append(x.cuda())\nplt.plot(seen)\nreturn seen",
            "TNP104",
            PLOTS + "a list of tensors where each is not on the CPU, so NumPy raises TypeError;"
            " convert each tensor before it goes into the list",
            None,
        ),
        (
            "seen = []\nseen.append(x.cuda())\nif path:\n    seen.append(w.cuda())\nplt.plot(seen)",
            "TNP104",
            PLOTS + "a list of tensors where each is not on the CPU, so NumPy raises TypeError;"
            " convert each tensor before it goes into the list",
            None,
        ),
        (
            "seen = []\nseen.append(x.bfloat16())\nplt.plot(seen)",
            "TNP104",
            PLOTS + "a list of tensors where each has dtype `bfloat16`, which NumPy lacks: raises TypeError;"
            " convert each tensor before it goes into the list",
            None,
        ),
        (
            "seen = [w.cuda()]\nseen.append(x.cuda())\nplt.plot(seen)",
            "TNP104",
            PLOTS + "a list of tensors where each is not on the CPU, so NumPy raises TypeError;"
            " convert each tensor before it goes into the list",
            None,
        ),
        (
            "seen = [each.cuda() for each in x]\nplt.plot(seen)",
            "TNP104",
            PLOTS + "a list of tensors where each is not on the CPU, so NumPy raises TypeError;"
            " convert each tensor before it goes into the list",
            None,
        ),
        (
            "seen = x.cuda().unbind()\nplt.plot(seen)",
            "TNP104",
            PLOTS + "a list of tensors where each is not on the CPU, so NumPy raises TypeError;"
            " convert each tensor before it goes into the list",
            None,
        ),
        (
            "seen = [w.cuda(), x.cuda()]\nloss = np.sum(seen, 0)\nloss.backward()",
            "TNP104",
            (
                "`np.sum` converts a list of tensors where each is not on the CPU, so NumPy raises TypeError;"
                " line 10 uses the result in torch, and an array has no gradient:"
                " use torch functions"
            ),
            None,
        ),
        (
            "torch.tensor(np.exp(w.cuda())).backward()",
            "TNP104",
            (
                "`np.exp` converts a tensor that is not on the CPU, so NumPy raises TypeError;"
                " torch uses the result, and an array has no gradient: use torch functions"
            ),
            None,
        ),
        (
            "torch.tensor(np.histogram(w.cuda())).backward()",
            "TNP104",
            (
                "`np.histogram` converts a tensor that is not on the CPU, so NumPy raises TypeError;"
                " torch uses the result, and an array has no gradient: use torch functions"
            ),
            None,
        ),
        (
            "y = np.ones(3) * x.cuda()\ny.backward()",
            "TNP108",
            (
                "`np.ones(3) * x.cuda()`: `ndarray * Tensor` always raises TypeError;"
                " line 9 uses the result in torch, and an array has no gradient: wrap the array in `torch.from_numpy()`"
            ),
            None,
        ),
        (
            "plt.scatter(x.cuda(), w.cuda())",
            "TNP104",
            (
                "`plt.scatter` converts a tensor that is not on the CPU, so NumPy raises TypeError;"
                " 1 more argument raises too"
            ),
            "Add `.detach().cpu().numpy()` to `x.cuda()` and `w.cuda()`",
        ),
        (
            "y = nn.Linear(3, 3)(x)\nplt.plot(y)",
            "TNP104",
            PLOTS + "a tensor computed from model parameters: it requires grad,"
            " so NumPy raises RuntimeError while grad mode is on",
            "Add `.detach().cpu().numpy()` to `y`",
        ),
        (
            "net = nn.Linear(3, 3)\nplt.plot(net.weight)",
            "TNP104",
            PLOTS + "a tensor that is, or is computed from, a model parameter: it requires grad,"
            " so NumPy raises RuntimeError while grad mode is on",
            "Add `.detach().cpu().numpy()` to `net.weight`",
        ),
        (
            "np.asarray(x.cuda().bfloat16())",
            "TNP104",
            (
                "`np.asarray` converts a tensor that is not on the CPU and has dtype `bfloat16`, which NumPy lacks:"
                " raises TypeError"
            ),
            "Add `.detach().cpu().float().numpy()` to `x.cuda().bfloat16()`",
        ),
        (
            "np.ones(3) * x.cuda()",
            "TNP108",
            "`np.ones(3) * x.cuda()`: `ndarray * Tensor` always raises TypeError",
            "Add `.detach().cpu().numpy()` to `x.cuda()`",
        ),
        (
            "x.cuda() > np.ones(3)",
            "TNP108",
            "`x.cuda() > np.ones(3)`: `Tensor > ndarray` always raises TypeError",
            "Add `.detach().cpu().numpy()` to `x.cuda()`",
        ),
        (
            "x.cuda()[0] = np.ones(3)",
            "TNP108",
            (
                "`x.cuda()[0] = ...`: assigning an ndarray into a Tensor always raises TypeError;"
                " wrap it in `torch.from_numpy()`"
            ),
            None,
        ),
        (
            "a = np.ones(3)\na[x.cuda()]",
            "TNP108",
            (
                "`a[x.cuda()]` converts its index, a tensor that is not on the CPU, so NumPy raises TypeError,"
                " and one of one element loses its axis"
            ),
            "Add `.detach().cpu().numpy()` to `x.cuda()`",
        ),
        (
            "x.bfloat16().numpy()",
            "TNP105",
            "`.numpy()` on a tensor of dtype `bfloat16`, which NumPy lacks: always raises TypeError",
            "Add `.float()`",
        ),
        (
            "x.to_sparse().numpy()",
            "TNP106",
            "`.numpy()` on a tensor in sparse layout, which NumPy lacks: always raises TypeError",
            "Add `.to_dense()`",
        ),
        (
            "x.to(torch.complex64).conj().numpy()",
            "TNP107",
            "`.numpy()` on a tensor with its conjugate bit set: raises RuntimeError on the CPU, TypeError on a GPU",
            "Add `.resolve_conj()`",
        ),
        (
            "torch.ones(3, dtype=torch.complex64).conj().numpy()",
            "TNP107",
            "`.numpy()` on a tensor with its conjugate bit set: raises RuntimeError",
            "Add `.resolve_conj()`",
        ),
        (
            "x.to(torch.complex64).conj().cpu().numpy()",
            "TNP107",
            (
                "`.numpy()` on a tensor with its conjugate bit set:"
                " raises RuntimeError, unless `.cpu()` copied it from a GPU and so cleared the bit"
            ),
            "Add `.resolve_conj()`",
        ),
        (
            "x.to(torch.complex64).cpu().conj().numpy()",
            "TNP107",
            "`.numpy()` on a tensor with its conjugate bit set: raises RuntimeError",
            "Add `.resolve_conj()`",
        ),
        (
            "loss = torch.tensor(x.detach().numpy().mean(), requires_grad=True)\nloss.backward()",
            "TNP203",
            (
                "`.detach()` cuts the gradient: the loss of line 9 is computed only from the array"
                " `x.detach().numpy()`, so no gradient reaches the model; compute the loss with torch"
            ),
            None,
        ),
        (
            "torch.zeros(3).numpy()",
            "TNP300",
            "`.numpy()` without `.detach()` and `.cpu()` on a tensor: strict mode requires both",
            "Add `.detach().cpu()`",
        ),
        (
            "x.clone().numpy().copy()",
            "TNP301",
            "`.copy()` after `.numpy()` is a needless second copy: `clone()` has already copied",
            "Remove `.copy()`",
        ),
        (
            "x.cpu().detach().numpy()",
            "TNP302",
            "`.cpu()` before `.detach()` records a useless copy in the autograd graph; detach first",
            "Move `.detach()` before `.cpu()`",
        ),
        (
            "x.data.cpu().numpy()",
            "TNP303",
            "`.data` before `.numpy()` bypasses autograd's checks; use `.detach()`",
            "Replace `.data` by `.detach()`",
        ),
        (
            "return [row.detach().cpu().numpy() for row in x]",
            "TNP304",
            "`.numpy()` called per element in a loop; convert the whole tensor once, before the loop",
            None,
        ),
        (
            "x.detach().cpu().numpy()  # noqa: TNP101, TNP102",
            "TNP901",
            "`# noqa` of TNP101, TNP102 suppresses nothing: no TNP101 or TNP102 is reported on this line",
            "Remove `TNP101, TNP102`",
        ),
        (
            "a = x.detach().cpu().numpy()\nx.zero_()\nreturn a",
            "TNP201",
            SHARES + "line 9 overwrites the tensor, then line 10 reads the changed array",
            "Add `.copy()` after `.numpy()`",
        ),
        (
            "seen = []\nfor _ in range(3):\n    x.mul_(2)\n    seen.append(x.detach().cpu().numpy())\nreturn seen",
            "TNP201",
            SHARES + "line 10 overwrites the tensor in the next iteration, then line 12 reads the changed array",
            "Add `.copy()` after `.numpy()`",
        ),
        (
            "unknown.seen = x.detach().cpu().numpy()\nself = unknown\nself.seen = unknown.seen\nx.zero_()",
            "TNP201",
            SHARES + "line 11 overwrites the tensor, and `self.seen` still holds the array",
            "Add `.copy()` after `.numpy()`",
        ),
        (
            "a = x.detach().cpu().numpy()\na.sort()\nreturn x",
            "TNP202",
            SHARES + "line 9 overwrites the array, then line 10 reads the changed tensor",
            "Add `.copy()` after `.numpy()`",
        ),
    ],
)
def test_the_message_and_the_repair(body: str, code: str, message: str, repair: str | None) -> None:
    findings = check_source(HEAD + indent(body, "    "), select=[code])
    assert [(each.message, each.fix and each.fix.message) for each in findings] == [(message, repair)]
