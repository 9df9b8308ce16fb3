"""Writes the table of docs/rehearsal.md: what the stand-in does for pieces of programs.

    python scripts/write_rehearsal_table.py [--check]

Each piece is run on the CPU and on the stand-in, and its results are compared. `--check` writes nothing and fails where
the table is not what is in the page.
"""

# ruff: noqa: ANN401 -- a piece of a program may give anything

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tonumpy.rehearsal.standin import pretend

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parent.parent / "docs/rehearsal.md"
BEGIN, END = "<!-- table: pieces -->\n", "<!-- end of table -->\n"
PIECES: dict[str, Callable[[str], Any]] = {}


def piece(words: str) -> Callable[[Callable[[str], Any]], Callable[[str], Any]]:
    def keep(function: Callable[[str], Any]) -> Callable[[str], Any]:
        PIECES[words] = function
        return function

    return keep


def _trained(net: nn.Module, x: torch.Tensor, optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    for _ in range(3):
        optimizer.zero_grad()
        net(x).float().pow(2).mean().backward()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in net.parameters()]


@piece("convolutions, batch norm, dropout off, SGD")
def _convolutions(device: str) -> Any:
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)).to(device)
    x = torch.randn(4, 2, 8, 8).to(device)
    return _trained(net, x, torch.optim.SGD(net.parameters(), 0.1, momentum=0.9))


@piece("lazy modules")
def _lazy(device: str) -> Any:
    return nn.LazyLinear(2).to(device)(torch.ones(1, 3).to(device)).shape


@piece("Adam with `foreach=True`, AdamW with `fused=True`")
def _optimizers(device: str) -> Any:
    first, x = nn.Linear(3, 2).to(device), torch.randn(4, 3).to(device)
    second = copy.deepcopy(first)
    kept = _trained(first, x, torch.optim.Adam(first.parameters(), foreach=True))
    return kept + _trained(second, x, torch.optim.AdamW(second.parameters(), fused=True))


@piece("LSTM and GRU, packed sequences")
def _recurrent(device: str) -> Any:
    x = nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 3).to(device), torch.tensor([5, 3]))
    out, _ = nn.LSTM(3, 4).to(device)(x)
    return out.data.cpu(), nn.GRU(3, 4).to(device)(torch.randn(5, 2, 3).to(device))[0].cpu()


@piece("a transformer layer, `scaled_dot_product_attention`")
def _attention(device: str) -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).to(device)
    x = torch.randn(2, 5, 8).to(device)
    return layer(x).cpu(), F.scaled_dot_product_attention(x, x, x, is_causal=True).cpu()


@piece('`autocast("cuda", torch.bfloat16)` and `GradScaler`')
def _precision(device: str) -> Any:
    net, x = nn.Linear(3, 2).to(device), torch.randn(4, 3).to(device)
    optimizer, scaler = torch.optim.SGD(net.parameters(), 0.1), torch.amp.GradScaler(device)
    with torch.autocast(device, torch.bfloat16):
        loss = net(x).float().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return net.weight.detach().cpu(), loss.dtype


@piece("`state_dict`, `torch.save`, `torch.load(map_location=...)`, `deepcopy`, `pickle`")
def _saving(device: str) -> Any:
    net, file = nn.Linear(3, 2).to(device), io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    loaded = torch.load(file, map_location=device, weights_only=True)
    again = pickle.loads(pickle.dumps(copy.deepcopy(net)))
    return loaded["weight"].cpu(), again.bias.detach().cpu(), loaded["weight"].device.type == device


@piece("views, in-place operators, `out=`, masks, `index_put_`")
def _memory(device: str) -> Any:
    x = torch.arange(12.0).to(device).view(3, 4)
    x[1].mul_(2)
    x[x > 20] = 0
    torch.add(x, 1, out=x)
    x.T[0, torch.tensor([0, 2])] = 7.0
    return x.cpu(), x.tolist(), x.sum().item()


@piece("sparse, complex and half tensors, FFT")
def _kinds(device: str) -> Any:
    x = torch.randn(4, 4).to(device)
    return (x.to_sparse() @ x).cpu(), torch.fft.fft(x).abs().cpu(), x.half().add(1).float().cpu()


@piece("hooks, `torch.autograd.grad` of second order, `checkpoint`")
def _autograd(device: str) -> Any:
    x = torch.randn(3).to(device).requires_grad_()
    seen: list[torch.Tensor] = []
    x.register_hook(seen.append)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    torch.utils.checkpoint.checkpoint(torch.sin, first, use_reentrant=False).sum().backward()
    assert x.grad is not None
    return x.grad.cpu(), len(seen) > 0


@piece("`torch.func`: `vmap`, `grad`, `functional_call`")
def _functions(device: str) -> Any:
    x, net = torch.randn(5, 3).to(device), nn.Linear(3, 2).to(device)
    each = torch.func.vmap(torch.func.grad(lambda row: row.pow(3).sum()))(x)
    return each.cpu(), torch.func.functional_call(net, dict(net.named_parameters()), (x,)).detach().cpu()


@piece("`torch.set_default_device`, `torch.Generator(device)`, `torch.manual_seed`")
def _defaults(device: str) -> Any:
    torch.set_default_device(device)
    try:
        places = torch.ones(2).device.type == device, torch.randn(2, generator=torch.Generator(device)).device.type
    finally:
        torch.set_default_device(None)
    return places[0], places[1] == device


@piece("`torch.compile` (runs eagerly)")
def _compiled(device: str) -> Any:
    return torch.compile(lambda x: torch.relu(x) + 1)(torch.arange(-2.0, 2.0).to(device)).cpu()


@piece("`torch.jit.script`")
def _scripted(device: str) -> Any:
    return torch.jit.script(nn.Linear(3, 2).to(device))(torch.ones(1, 3).to(device)).detach().cpu()


@piece("streams, events, `synchronize`, memory counters")
def _device_module(device: str) -> Any:
    if device == "cpu":
        return True
    with torch.cuda.stream(torch.cuda.Stream()):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated() >= 0 and torch.cuda.device_count() == 2


@piece("the second of two devices, `cuda:1`, with `--devices 2`")
def _second(device: str) -> Any:
    return torch.ones(2, device=device if device == "cpu" else "cuda:1").cpu()


@piece("CUDA graphs")
def _graphs(device: str) -> Any:
    if device == "cpu":
        return True
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.ones(2, device=device).add_(1)
    return True


@piece("FlexAttention")
def _flex(device: str) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    x = torch.randn(1, 2, 16, 16).to(device)
    return flex_attention(x, x, x).cpu()


def results(device: str) -> list[Any]:
    """What each piece gives; of one that raises, the error in words."""
    found = []
    for function in PIECES.values():
        torch.manual_seed(0)
        try:
            found.append(torch.utils._pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, function(device)))
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            found.append(Raised(f"`{type(error).__name__}: {re.sub(' at 0x[0-9a-f]+', '', lines[0])[:90]}`"))
    return found


class Raised(str):
    """An error in words."""


def outcome(one: Any, other: Any) -> str:
    if isinstance(other, Raised):
        return str(other)
    return "as on the CPU" if same(one, other) else "other values than on the CPU"


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.allclose(one, other, rtol=1e-4, atol=1e-5)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def without_words(page: str) -> str:
    """Builds of torch say the same errors in other words."""
    return re.sub(r"(?m)^(\|.*\| `\w+): .*` \|$", r"\1` |", page)


def table() -> str:
    """Autograd counts devices when it first goes backward, so the CPU has a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        on_cpu = pool.apply(results, ("cpu",))
    with pretend("cuda", lambda event, tensor: None, devices=2):  # noqa: ARG005
        there = results("cuda")
    rows = [f"| {words} | {outcome(*both)} |\n" for words, *both in zip(PIECES, on_cpu, there, strict=True)]
    return "".join((BEGIN, "| | on the stand-in |\n|---|---|\n", *rows, END))


def main() -> int:
    warnings.simplefilter("ignore")
    found = table()
    page = PAGE.read_text("utf-8")
    written = re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: found, page, flags=re.DOTALL)
    if "--check" in sys.argv:
        return int(without_words(written) != without_words(page))
    PAGE.write_text(written, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
