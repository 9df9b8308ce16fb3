"""Inside what `torch.compile` compiles a rehearsal finds nothing, as nothing raises there, and gradients pass."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rehearsal_runs import needs_torch, rehearse

PROGRAM = Path(__file__).with_name("compiled_program.py")
MARKED = [
    (row, line.rpartition("# ")[2]) for row, line in enumerate(PROGRAM.read_text().splitlines(), 1) if "  # TNP" in line
]


@pytest.mark.slow
@needs_torch
def test_compiled_code_raises_for_real_where_it_is_marked_and_nowhere_else() -> None:
    done = subprocess.run([sys.executable, PROGRAM, "cpu"], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "done cpu", done.stderr


@pytest.mark.slow
@needs_torch
def test_a_rehearsal_finds_what_is_marked(tmp_path: Path) -> None:
    shutil.copy(PROGRAM, tmp_path / "program.py")
    result = rehearse(tmp_path, "--fragile", "--", "program.py")
    assert [(each["location"]["row"], each["code"]) for each in result.findings] == MARKED, result.err
    assert "done cuda:0" in result.err
    assert result.code == 1 and "The program ended with exit code 0." in result.err


@pytest.mark.slow
@needs_torch
def test_a_compiled_model_is_copied_pickled_and_called_in_threads(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(COPIED)
    result = rehearse(tmp_path, "--", "program.py")
    assert result.findings == [] and "same" in result.err, result.err


COPIED = """
import copy, io, threading
import numpy as np, torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(torch.as_tensor(np.abs(x.numpy())))

x = torch.ones(1, 2, device="cuda")
net = torch.compile(Net().cuda())
found = [copy.deepcopy(net)(x), net(x)]
net._orig_mod.compile()
torch.save(net._orig_mod.state_dict(), io.BytesIO())
thread = threading.Thread(target=lambda: found.append(net(x)))
thread.start()
thread.join()
print("same" if all(torch.equal(each, found[0]) for each in found) and len(found) == 3 else found)
"""
