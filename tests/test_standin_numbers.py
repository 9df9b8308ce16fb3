"""Numbers that stand for devices: what torch takes them for with a device, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from standin_runs import run

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = """
    import io
    import numpy as np
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_sequence

    x = torch.ones(2)
    net = lambda: nn.Linear(2, 2)
    first = lambda module: next(module.parameters())
    file = io.BytesIO()
    torch.save({"x": x}, file)

    def loaded(place):
        file.seek(0)
        return torch.load(file, map_location=place)["x"]

    def within(context):
        with context:
            return torch.ones(2, device="cuda")

    made = {
        "to": [x.to(0), x.to(device=0), x.to(0, torch.float64), x.to(np.int64(0)), x.to(torch.cuda.current_device())],
        "cuda": [x.cuda(0), x.cuda(device=0), x.untyped_storage().cuda(0), pack_sequence([x]).cuda(0).data],
        "factories": [getattr(torch, name)(2, device=0) for name in "zeros ones empty rand randn arange eye".split()],
        "data": [torch.tensor([1], device=0), torch.as_tensor([1], device=0), torch.asarray([1], device=0)],
        "like": [torch.empty_like(x, device=0), torch.zeros_like(x, device=0), torch.full_like(x, 1, device=0)],
        "new": [x.new_zeros(2, device=0), x.new_tensor([1], device=0), x.new_full((2,), 1, device=0)],
        "more": [torch.fft.fftfreq(4, device=0), torch.signal.windows.hann(4, device=0)],
        "normal": [torch.normal(0, 1, (2,), device=0)],
        "sparse": [torch.sparse_coo_tensor([[0]], [1.0], (2,), device=0)],
        "modules": [first(net().to(0)), first(net().to(device=0)), first(net().cuda(0))],
        "made there": [first(nn.Linear(2, 2, device=0)), first(nn.Linear(2, 2, device="meta").to_empty(device=0))],
        "packed": [pack_sequence([x]).to(0).data],
        "parallel": [nn.DataParallel(net().to(0), device_ids=[0], output_device=0)(x.to(0))],
        "loaded": [loaded({"cpu": "cuda:0"}), loaded(lambda storage, place: storage.cuda(0))],
        "default": [within(torch.cuda.device(0))],
        "generators": [torch.Generator(device=0), torch.Generator(0), torch.Generator(0).clone_state()],
        "default generators": [torch.cuda.default_generators[0].clone_state()],
        "streams": [torch.cuda.Stream(0), torch.Stream(0), torch.Event(0)],
    }
    for name, each in made.items():
        print(name, {str(one.device) for one in each})
    print(x.to(True).dtype)
    for wrong in ("x.to(-1)", "loaded(0)", "torch.autocast(0)", "torch.device()"):
        try:
            eval(wrong)
            print("no error")
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0][:40])
"""
NUMBERS_SAY = """\
to {'cuda:0'}
cuda {'cuda:0'}
factories {'cuda:0'}
data {'cuda:0'}
like {'cuda:0'}
new {'cuda:0'}
more {'cuda:0'}
normal {'cuda:0'}
sparse {'cuda:0'}
modules {'cuda:0'}
made there {'cuda:0'}
packed {'cuda:0'}
parallel {'cuda:0'}
loaded {'cuda:0'}
default {'cuda:0'}
generators {'cuda:0'}
default generators {'cuda:0'}
streams {'cuda:0'}
torch.bool
RuntimeError Device index must not be negative
TypeError 'int' object is not callable
ValueError Expected `device_type` of type `str`, go
TypeError device() received an invalid combination
"""


def test_a_number_stands_for_a_device(tmp_path: Path) -> None:
    done = run(NUMBERS, tmp_path)
    assert (done.code, done.output) == (0, NUMBERS_SAY), done.errors


SHORT = """
    import torch

    x = torch.ones(3, device="cuda")
    sparse = torch.eye(2).to_sparse().cuda()
    results = [x + 1, 1 - x, 2 / x, 2**x, 7 % x, 7 // x, x // 2, x @ x, x[0], x[1:], sparse[0], sparse * 2, x == x]
    x += 1
    x[0] = 5.0
    print({str(each.device) for each in (x, *results)})
    print(x.__add__(x, alpha=2).tolist(), x.__add__(object()))
    batched = torch.vmap(lambda each: (each[0] * each - each[1:2]) > 0)(torch.ones(2, 3, device="cuda"))
    print(batched.device, torch.nn.functional.linear(x, x).device)
    for wrong in ("torch.exp()", "x[7]", "x + torch.ones(2, device='cuda')", "x @ torch.ones(3, device='cuda').long()"):
        try:
            eval(wrong)
        except Exception as error:
            print(type(error).__name__)
"""
SHORT_SAY = """\
{'cuda:0'}
[15.0, 6.0, 6.0] NotImplemented
cuda:0 cuda:0
TypeError
IndexError
RuntimeError
RuntimeError
"""


def test_operators_with_a_short_way_give_what_torch_gives(tmp_path: Path) -> None:
    done = run(SHORT, tmp_path)
    assert (done.code, done.output, done.told) == (0, SHORT_SAY, ()), done.errors


def test_all_names_of_one_function_are_treated_as_its_shortest() -> None:
    torch = pytest.importorskip("torch")
    from tonumpy.rehearsal.standin import operator_lists

    known = torch._C._VariableFunctions
    names: dict[object, list[str]] = {}
    for name in dir(known):
        names.setdefault(getattr(known, name), []).append(name)
    tables = [each for each in vars(operator_lists).values() if isinstance(each, frozenset)]
    for each in names.values():
        shortest = min(each, key=len)
        assert all(shortest in table or table.isdisjoint(each) for table in tables), each
