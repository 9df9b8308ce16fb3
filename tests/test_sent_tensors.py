"""Tensors of the stand-in arrive in other processes, and `CUDA_VISIBLE_DEVICES` says how many devices there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch, tonumpy

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_torch

SENDS = """\
import torch
import torch.multiprocessing as mp

def work(rank, net, weight, jobs, results):
    x = jobs.get()
    results.put((x.device.type, weight.requires_grad, type(weight).__name__, net(x).detach(), None))
    with torch.no_grad():
        weight += 1
    jobs.get()  # what was sent lives as long as who sent it

if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    context = mp.get_context("spawn")
    jobs, results = context.Queue(), context.Queue()
    net, weight = torch.nn.Linear(2, 1).to(device), torch.nn.Parameter(torch.ones(2, device=device))
    torch.nn.init.ones_(net.weight), torch.nn.init.ones_(net.bias)
    spawned = mp.spawn(work, (net, weight, jobs, results), nprocs=1, join=False)
    jobs.put(torch.ones(3, 2, device=device))
    kind, grad, name, y, _ = results.get()
    print(kind == device, grad, name, y.device.type == device, y.tolist())
    jobs.put(None)
    spawned.join()
    print(weight.tolist())
    receiving, sending = context.Pipe(False)
    sending.send(torch.arange(3, device=device))
    print(receiving.recv().sum().item())
    try:
        sending.send(net(torch.ones(1, 2, device=device)))
    except RuntimeError as error:
        print("refused:", str(error)[:40])
"""


@pytest.mark.slow
def test_tensors_arrive(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SENDS)
    result = tonumpy(tmp_path, "rehearse", "-q", "-o", "report.txt", "program.py")
    assert result.out.splitlines() == [
        "True True Parameter True [[3.0], [3.0], [3.0]]",
        "[2.0, 2.0]",
        "3",
        "refused: Cowardly refusing to serialize non-leaf ",
    ], result.err
    assert result.code == 0


HIDES = """\
import os
import torch
os.environ["CUDA_VISIBLE_DEVICES"] = ""
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.accelerator.is_available())
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
print(torch.cuda.is_available())
for use in (lambda: torch.ones(2).cuda(), lambda: torch.ones(2, device="cuda:0"), torch.cuda.init):
    try:
        use()
    except RuntimeError as error:
        print(error)
print(torch.ones(2).to("cpu").device)
"""


@pytest.mark.slow
def test_devices_can_be_hidden(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HIDES)
    result = tonumpy(tmp_path, "rehearse", "-q", "-o", "report.txt", "--devices", "2", "program.py")
    none = ["No CUDA GPUs are available"] * 3
    assert result.out.splitlines() == ["False 0 False", "False", *none, "cpu"], result.err


@pytest.mark.parametrize(
    ("said", "shown"),
    [(None, 2), ("", 0), ("0", 1), ("1", 1), ("1,0", 2), ("-1", 0), ("0,-1,1", 1), ("7", 0), ("0,0", 1), ("GPU-8a", 1)],
)
def test_what_is_shown_is_what_cuda_shows(said: str | None, shown: int) -> None:
    from tonumpy.rehearsal.standin.marks import visible  # imports torch

    assert visible(said, 2) == shown
