"""What torch and Python do with functions and tensors behind the program's back ends no program on the stand-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from standin_runs import run

if TYPE_CHECKING:
    from pathlib import Path

PICKLED = """
    import copy
    import io
    import pickle
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.act, self.layer = torch.tanh, nn.Linear(2, 2)

        def forward(self, x):
            return self.act(self.layer(x))

    functions = [torch.relu, nn.functional.gelu, torch.zeros, torch.stack, torch.linalg.norm, torch.fft.fft]
    functions += [torch.from_numpy, torch.cuda.synchronize, torch.cuda.Stream, torch.Generator, torch.compile]
    functions += [torch.Tensor.numpy, torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.item, torch.Tensor.cuda]
    for function in functions:
        assert pickle.loads(pickle.dumps(function)) is function, function
        assert b"tonumpy" not in pickle.dumps(function), function
    file = io.BytesIO()
    torch.save(Net().to("cuda"), file)
    file.seek(0)
    print(torch.load(file, weights_only=False)(torch.ones(1, 2, device="cuda")).device)
    sparse = torch.eye(2, device="cuda").to_sparse() * 2
    file = io.BytesIO()
    torch.save(sparse, file)
    file.seek(0)
    print(torch.load(file, weights_only=True).layout, copy.deepcopy(sparse).device, vars(sparse))
"""


@pytest.mark.slow
def test_functions_models_and_sparse_tensors_are_pickled(tmp_path: Path) -> None:
    """Into files that hold nothing of ours, as other programs load them."""
    done = run(PICKLED, tmp_path)
    assert (done.code, done.output) == (0, "cuda:0\ntorch.sparse_coo cuda:0 {}\n"), done.errors


BEHIND = """
    import torch
    from torch import nn
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.checkpoint import checkpoint

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, 2, device="cuda", requires_grad=True)
    for reentrant in (True, False):
        checkpoint(lambda v: torch.tanh(v) * torch.rand_like(v), x, use_reentrant=reentrant).sum().backward()
    print(x.grad.device)
    with Mode():
        net = nn.Linear(2, 2).to("cuda")
        net(torch.ones(1, 2, device="cuda")).sum().backward()
    print(net.weight.grad.device)
    with FakeTensorMode():
        print(nn.Linear(3, 4, device="cuda")(torch.ones(2, 3, device="cuda")).shape)
"""


@pytest.mark.slow
def test_what_is_saved_for_later_and_seen_by_modes_is_no_fault(tmp_path: Path) -> None:
    done = run(BEHIND, tmp_path)
    assert (done.code, done.output) == (0, "cuda:0\ncuda:0\ntorch.Size([2, 4])\n"), done.errors
    assert done.told == ()


OVERRIDDEN = """
    import torch

    class Lazy:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            assert function in (torch.add, torch.stack) or getattr(torch.Tensor, function.__name__) is function
            return function.__name__

    x, y = torch.ones(2, 2, device="cuda"), Lazy()
    print(x + y, y + x, x - y, x * y, y * x, x / y, x @ y, x == y, x < y, x % y, x[y], x.add(y))
    print(torch.add(x, y), torch.stack([x, y]))
    host = x.to("cpu", non_blocking=True)
    print(x.to(y), x.to(y, torch.float32), x.to(y, non_blocking=True), host.to(y), x.type_as(y), x.copy_(y))
    x += y
    print(x)
"""


def test_a_class_that_overrides_torch_is_told_of_the_functions_that_torch_tells_it_of(tmp_path: Path) -> None:
    done = run(OVERRIDDEN, tmp_path)
    names = "add add sub mul mul div matmul eq lt remainder __getitem__ add\nadd stack\n"
    names += "to to to to type_as copy_\nadd_\n"
    assert (done.code, done.output) == (0, names), done.errors
