"""What belongs to a device beside its tensors: compiled code, graphs, streams, libraries, memory, modules that move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

from standin_runs import run

if TYPE_CHECKING:
    from pathlib import Path

SCRIPTS = """
    import io
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.register_buffer("one", torch.ones(2))

        def forward(self, x):
            return self.layer(x) + torch.zeros(x.size(0), 2, device=x.device) + self.one

    @torch.jit.script
    def scripted(x):
        return x + torch.ones(2, device=x.device)

    @torch.jit.script
    def moving(x):
        return x.to("cuda") + torch.ones(2, device="cuda")

    @torch.jit.script
    def asking(x):
        if x.is_cuda:
            return x * 2
        return x

    x = torch.ones(3, 2, device="cuda")
    print(scripted(x).sum().item(), moving(torch.ones(3, 2)).device, asking(x).sum().item())
    net = torch.jit.script(Net()).to("cuda")
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = net(x).pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(losses[2] < losses[0], isinstance(net, torch.jit.ScriptModule))
    file = io.BytesIO()
    torch.jit.save(net, file)
    for place in ("cuda", torch.device("cuda"), "cpu", None):
        file.seek(0)
        print(next(torch.jit.load(file, map_location=place).parameters()).device, end=" ")
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()).to("cuda").eval()
    image = torch.randn(1, 1, 5, 5, device="cuda")
    traced = torch.jit.freeze(torch.jit.trace(model, image))
    print(torch.allclose(traced(image), model(image), atol=1e-5))
    print(torch.func.hessian(lambda v: (v ** 4).sum())(torch.ones(2, device="cuda")).tolist())
    whole = torch.compile(net.cpu().cuda() and nn.Linear(2, 2).cuda(), mode="max-autotune")
    torch.compile(lambda x: x)
    print(sorted(whole.state_dict()), type(whole).__name__, whole(x).shape)
"""
SCRIPTS_SAY = """\
12.0 cuda:0 12.0
True True
cuda:0 cuda:0 cpu cpu True
[[12.0, 0.0], [0.0, 12.0]]
['_orig_mod.bias', '_orig_mod.weight'] OptimizedModule torch.Size([3, 2])
"""


def test_compiled_code_runs(tmp_path: Path) -> None:
    done = run(SCRIPTS, tmp_path)
    assert (done.code, done.output) == (0, SCRIPTS_SAY), done.errors
    assert done.errors.count("torch.compile: on a stand-in accelerator the code runs as it is") == 1
    assert "torch.jit.script: on a stand-in accelerator code that names the device" in done.errors


DEVICE = """
    import torch
    from torch import nn
    x = torch.ones(2, device="cuda")
    stream = torch.cuda.Stream(priority=-1)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        x + 1
    event = torch.Event(device="cuda")
    event.record(torch.Stream(device="cuda"))
    print(stream.device, event.device, isinstance(stream, torch.Stream), stream.record_event().query())

    graph = torch.cuda.CUDAGraph()
    net = nn.Linear(2, 1).cuda()
    with torch.cuda.graph(graph, stream=stream):
        y = net(x * 2).relu().sum() + x.add_(0).sum()
    graph.replay()  # with a warning: nothing is computed
    assert torch.allclose(y, net(x * 2).relu().sum() + x.sum())
    print(torch.cuda.make_graphed_callables(net, (x,))(x).shape)

    cache = torch.backends.cuda.cufft_plan_cache
    cache.max_size = 10
    cache.clear()
    stats = torch.cuda.memory_stats()
    print(cache.max_size, stats["allocated_bytes.all.current"], stats.get("nothing"), torch.cuda.memory._snapshot())
    print(torch.backends.cudnn.is_available(), torch.backends.cudnn.version() > 8000, len(torch.cuda.nccl.version()))
    print(torch.version.cuda.split(".")[0].isdigit(), torch.cuda.cudart().cudaProfilerStart())

    storage = x.untyped_storage()
    storage.resize_(0)
    print(storage.nbytes(), x.device, end=" ")
    storage.resize_(8)
    x.fill_(5.0)
    print(storage.nbytes(), x.tolist())

    for way in ("there", "back"):
        net = nn.Linear(2, 1) if way == "there" else nn.Linear(2, 1).cuda()
        place = next(net.parameters()).device
        loss = net(torch.ones(3, 2, device=place)).sum()
        net.cuda() if way == "there" else net.cpu()
        loss.backward()
        print(*(parameter.grad.tolist() for parameter in net.parameters()))

    moved = nn.BatchNorm1d(2).cuda().to(torch.bfloat16)  # its count of batches is no floating point number
    print(moved.weight.dtype, moved.num_batches_tracked.device, torch.ones(2).to(None, None).device)
    print(nn.LazyLinear(2).cuda()(torch.ones(1, 3).cuda()).shape)
    table = nn.Embedding(4, 2, sparse=True).cuda()
    with torch.no_grad():
        table.weight.fill_(1.0)
    table(torch.tensor([1, 2]).cuda()).sum().backward()
    torch.optim.SparseAdam(list(table.parameters()), lr=0.5).step()
    print(table.weight.grad.is_sparse, [round(value, 3) for value in table.weight[:, 0].tolist()])
    state = torch.cuda.get_rng_state()
    first = torch.rand(2, device="cuda").tolist()
    torch.cuda.set_rng_state(state)
    again = torch.rand(2, device="cuda").tolist()
    torch.cuda.manual_seed_all(3)
    third = torch.rand(2, device="cuda").tolist()
    torch.cuda.manual_seed(3)
    print(first == again, third == torch.rand(2, device="cuda").tolist())
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        x + 1
    table = profile.key_averages().table(sort_by="cuda_time_total", row_limit=2)
    with torch.autograd.profiler.profile(use_cuda=True) as profile:
        x + 1
    print("Self" in table, len(profile.key_averages()) > 0)
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], device="cuda")
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], device="cuda", layout=torch.jagged)
    print(nested.size(0), (jagged * 2).unbind()[1].device)
"""
DEVICE_SAYS = """\
cuda:0 cuda:0 True True
torch.Size([1])
10 0 None {'segments': [], 'device_traces': []}
True True 3
True 0
0 cuda:0 8 [5.0, 5.0]
[[3.0, 3.0]] [3.0]
[[3.0, 3.0]] [3.0]
torch.bfloat16 cuda:0 cpu
torch.Size([1, 2])
True [1.0, 0.5, 0.5, 1.0]
True True
True True
2 cuda:0
"""


def test_what_belongs_to_the_device_answers(tmp_path: Path) -> None:
    done = run(DEVICE, tmp_path)
    assert (done.code, done.output) == (0, DEVICE_SAYS), done.errors
    assert "Failed to record" not in done.errors and "a replay computes nothing" in done.errors
    assert done.told == ()  # nor of what moves between forward and backward: C++ meets it out of sight


CLASS = """
    import torch

    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @torch.jit.script
    class Scale:
        def __init__(self, factor: float):
            self.factor = factor

        def of(self, x: torch.Tensor) -> torch.Tensor:
            return twice(x) * self.factor

    print(Scale(2.0).of(torch.ones(2, device="cuda")).tolist())
"""


def test_a_scripted_class_finds_the_names_of_its_module(tmp_path: Path) -> None:
    done = run(CLASS, tmp_path)
    assert (done.code, done.output) == (0, "[4.0, 4.0]\n"), done.errors
