"""What can be rehearsed beside a script and a module: a notebook, and a command that starts processes, as torchrun."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch, tonumpy

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_torch

CELLS = (
    "%matplotlib inline\nimport numpy as np\nimport torch\n!false",
    "x = torch.ones(3, device='cuda')\nprint(x.detach().numpy())",
    "import asyncio\nawait asyncio.sleep(0)\ndisplay(np.asarray(x).sum())",
)


def _notebook(cells: tuple[str, ...]) -> str:
    made = [
        {"cell_type": "code", "metadata": {}, "source": each, "outputs": [], "execution_count": None} for each in cells
    ]
    metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def test_a_notebook_is_told_by_cell(tmp_path: Path) -> None:
    (tmp_path / "learn.ipynb").write_text(_notebook(CELLS))
    result = tonumpy(tmp_path, "rehearse", "learn.ipynb")
    places = [line.partition(" ")[0] + line.split(" ")[1] for line in result.out.splitlines() if "TNP10" in line]
    assert places == ["learn.ipynb:cell2:2:18:", "learn.ipynb:cell3:3:20:"], result.out
    assert result.code == 1


MAGICS = (
    "%matplotlib inline\n%load_ext autoreload\nimport numpy as np\nimport torch\n!pip --version",
    "%%time\nx = torch.ones(3, device='cuda')\nprint(x.sum().item())",
    "%%bash\nexit 1",
    "%%capture out\n%pip install nothing\nfiles = !ls\ntotal = %time x.sum()\n%timeit x.sum()\nx?\nprint(len(files))",
    "shell = get_ipython()\nshell.run_line_magic('matplotlib', 'inline')\nprint(total.item())",
    "%%writefile other.py\nraise ValueError",
    "def wrong(array):\n\n    raise ValueError(array)\n\nwrong(x.cpu().numpy())",
)


@pytest.mark.slow
def test_an_error_names_its_cell_and_magics_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "learn.ipynb").write_text(_notebook(MAGICS))
    result = tonumpy(tmp_path, "rehearse", "-o", "report.txt", "learn.ipynb")
    assert result.out.splitlines()[:3] == ["3.0", "0", "3.0"], result.err
    path = tmp_path / "learn.ipynb"
    assert f'File "{path}", line ' in result.err and ", in wrong\n    raise ValueError(array)\n" in result.err
    assert "The program ended with ValueError: [1. 1. 1.] at learn.ipynb:cell 7:3." in result.out
    assert not (tmp_path / "other.py").exists()


@pytest.mark.slow
def test_a_notebook_is_repaired(tmp_path: Path) -> None:
    (tmp_path / "learn.ipynb").write_text(_notebook(CELLS[:2]))
    result = tonumpy(tmp_path, "rehearse", "--fix", "learn.ipynb")
    repaired = CELLS[0], CELLS[1].replace(".detach()", ".detach().cpu()")
    assert (tmp_path / "learn.ipynb").read_text() == _notebook(repaired)
    assert "1 repaired, run again: 0 left." in result.out


JOINED = """\
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", rank)
x = torch.ones(2, device=device) * (rank + 1)
dist.all_reduce(x)
print(f"rank {rank}: {x.tolist()} {torch.cuda.device_count()}\\n", end="", flush=True)  # in one write: both write here
dist.destroy_process_group()
"""


LAUNCHERS = {
    "torchrun": "torchrun --nproc-per-node 2 --master-port 29533",
    "torch.distributed.run": "-m torch.distributed.run --nproc-per-node 2 --master-port 29534",
    "accelerate": "accelerate launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no "
    "--dynamo_backend no --main_process_port 29535",
}


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_is_a_program(tmp_path: Path, launcher: str) -> None:
    if launcher == "accelerate":
        pytest.importorskip("accelerate")  # no part of the test extra
    (tmp_path / "train.py").write_text(JOINED)
    words = (*LAUNCHERS[launcher].split(), "train.py")
    result = tonumpy(tmp_path, "rehearse", "--devices", "2", "-o", "report.txt", "--", *words)
    ranks = sorted(line for line in result.out.splitlines() if line.startswith("rank"))
    assert ranks == [f"rank {rank}: [3.0, 3.0] 2" for rank in range(2)], result.err
    assert "gloo joins the processes in its place" in result.err
    assert "2 child processes imported torch, 2 were rehearsed." in result.out
    assert result.code == 0
