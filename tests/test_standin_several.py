"""Several devices: each tensor says on which it lies, operators refuse those of two, and numbers end where they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

import torch
from standin_runs import run

if TYPE_CHECKING:
    from pathlib import Path

PLACES = """
    import copy, io, threading
    import torch
    from torch import nn

    x = torch.ones(3, 4, device="cuda:1")
    print(x.device, x.get_device(), x[0, :1], x.type(), x.storage().device if False else x.untyped_storage().device)
    y = x.to("cuda:0")
    moved = [y, x.cuda(), x.to("cuda"), y + 1, y.to(x), y.cuda(1), x * 2, x.T, x.cpu().to(1), torch.ones_like(x),
             x.new_zeros(2), copy.deepcopy(x), x.sum().to(0), torch.arange(3, device=1), x.to(torch.device("cuda", 1))]
    print(*(each.device.index for each in moved))
    with torch.cuda.device(1):
        there = [torch.ones(2, device="cuda"), torch.zeros(2).cuda(), torch.zeros(2).to("cuda"), torch.empty_like(y)]
        print(torch.cuda.current_device(), *(each.device.index for each in there), torch.cuda.current_stream().device)
        thread = threading.Thread(target=lambda: print(torch.cuda.current_device()))
        thread.start(), thread.join()
    with torch.cuda.device_of(x):
        print(torch.cuda.current_device(), torch.accelerator.current_device_index())
    with torch.cuda.stream(torch.cuda.Stream(1)):
        print(torch.ones(1, device="cuda").device)
    torch.cuda.set_device(1)
    print(torch.ones(1, device="cuda").device, torch.cuda.current_stream())
    torch.cuda.set_device("cuda:0")
    print(torch.ones(1, device="cuda").device, torch.cuda.device_count(), torch.Generator("cuda:1").device)

    def loaded(place=None):
        file.seek(0)
        return torch.load(file, map_location=place)["x"].device

    file = io.BytesIO()
    torch.save({"x": x}, file)
    print(loaded(), loaded("cuda:0"), loaded("cuda"), loaded({"cuda:1": "cuda:0"}), loaded("cpu"))
    sparse = torch.eye(2, device=1).to_sparse()
    print(sparse.device, (sparse @ torch.ones(2, 2, device=1)).device)
    base = torch.cuda.memory_allocated(1)
    kept = torch.ones(1000, device=1)
    print(torch.cuda.memory_allocated(1) - base)
"""
PLACES_SAY = """\
cuda:1 1 tensor([1.], device='cuda:1') torch.cuda.FloatTensor cuda:1
0 0 0 0 1 1 1 1 1 1 1 1 0 1 1
1 1 1 1 0 cuda:1
0
1 1
cuda:1
cuda:1 <torch.cuda.Stream device=cuda:1 cuda_stream=0x0>
cuda:0 2 cuda:1
cuda:1 cuda:0 cuda:0 cuda:0 cpu
cuda:1 cuda:1
0
"""
TRAINED = """
    import torch
    from torch import nn

    first, second = nn.Linear(4, 4).to(0), nn.Linear(4, 1).to("cuda:1")
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
    for _ in range(3):
        optimizer.zero_grad()
        loss = second(first(torch.ones(8, 4, device=0)).relu().to(1)).mean()
        loss.backward()
        optimizer.step()
    print(loss.device, first.weight.grad.device, second.weight.grad.device)
    print({state["exp_avg"].device.index for state in optimizer.state.values()})
    spread = nn.DataParallel(nn.Linear(4, 2).cuda())
    output = spread(torch.ones(6, 4))
    output.sum().backward()
    print(output.device, tuple(output.shape), spread.module.bias.grad.tolist(), spread.module.bias.grad.device)
"""
TRAINED_SAY = "cuda:1 cuda:0 cuda:1\n{0, 1}\ncuda:0 (6, 2) [6.0, 6.0] cuda:0\n"
REFUSED = """
    import torch
    from torch import nn

    x, y, net = torch.ones(4, 4, device="cuda:1"), torch.ones(4, 4, device="cuda"), nn.Linear(4, 4).cuda()

    def within(number):
        with torch.cuda.device(number):
            return number

    for word in ("x + y", "y + x", "torch.cat([x, y])", "x @ y", "x.add_(y)", "torch.where(x > 0, x, y)", "net(x)",
                 "nn.functional.mse_loss(x, y)", "torch.stack([x, y])", "x + y.sum()", "x.copy_(y)",
                 "torch.ones(2, device='cuda:2')", "x.to('cuda:2')", "x.cuda(7)", "torch.cuda.set_device(3)",
                 "within(2)", "torch.zeros(2, device=2)", "torch.cuda.get_device_name(2)", "torch.device('cuda:2')",
                 "x.cpu()[0] + y"):
        try:
            result = eval(word)
            print("no error", getattr(result, "device", result))
        except Exception as error:
            print(type(error).__name__, str(error).splitlines()[0])
"""
TWO = "RuntimeError Expected all tensors to be on the same device, but found at least two devices, "
FIRST, SECOND = f"{TWO}cuda:1 and cuda:0!\n", f"{TWO}cuda:0 and cuda:1!\n"
KIND = getattr(torch, "AcceleratorError", RuntimeError).__name__  # the former since torch 2.8
BEYOND = f"{KIND} CUDA error: invalid device ordinal\n"
REFUSED_SAY = (
    FIRST + SECOND + FIRST * 8 + "no error cuda:1\n" + BEYOND * 6
    + "AssertionError Invalid device id\nno error cuda:2\n" + f"{TWO}cuda:0 and cpu!\n"
)  # fmt: skip


@pytest.mark.slow
def test_each_tensor_lies_where_it_was_put(tmp_path: Path) -> None:
    done = run(PLACES, tmp_path, devices=2)
    assert (done.code, done.output) == (0, PLACES_SAY), done.errors


@pytest.mark.slow
def test_modules_are_trained_on_two(tmp_path: Path) -> None:
    done = run(TRAINED, tmp_path, devices=2)
    assert (done.code, done.output) == (0, TRAINED_SAY), done.errors


@pytest.mark.slow
def test_tensors_of_two_and_numbers_beyond_are_refused(tmp_path: Path) -> None:
    done = run(REFUSED, tmp_path, devices=2, stop=True)
    assert (done.code, done.output) == (0, REFUSED_SAY), done.errors
    assert [each.event["reasons"] for each in done.told] == [["mixed"]] * 11
