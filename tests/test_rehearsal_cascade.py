"""What a fault gives goes on as where nothing is refused: only the line that is at fault is told."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch, rehearse

if TYPE_CHECKING:
    from pathlib import Path

CASCADE = """
import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
step = np.linspace(1.0, 2.0, 4, dtype=np.float32)
base = torch.nn.Parameter(torch.ones(4, device=device))
if device == "cpu":
    base.requires_grad_(False)
scale = base * step  # fault
out = torch.ones(4, device=device) * scale
print(type(out).__name__, out.shape, out.device.type == device)
if out.requires_grad:
    out.sum().backward()
print(np.asarray(scale).shape, scale.tolist())
if base.requires_grad:
    (base * step).sum().backward()  # fault
there = torch.ones(4, device=device)
root = np.sqrt(there)  # fault
print(type(root).__name__, root.cpu().numpy(), np.sum(np.asarray(root)))
less = there - step  # fault
both = torch.where(there > 0, less, there)
print(less.numpy(), torch.stack([less, less]).mean().item())
print(np.asarray((less * 2).sum()), root.mean().item())
array = np.asarray(there)  # fault
print(type(array).__name__)
"""


@pytest.mark.slow
@needs_torch
def test_only_the_first_line_is_told(tmp_path: Path) -> None:
    (tmp_path / "cascade.py").write_text(CASCADE)
    plain = subprocess.run([sys.executable, "cascade.py"], cwd=tmp_path, capture_output=True, text=True)
    assert plain.returncode == 0, plain.stderr
    result = rehearse(tmp_path, "--", "cascade.py")
    rows = [row for row, line in enumerate(CASCADE.splitlines(), 1) if "# fault" in line]
    assert [each["location"]["row"] for each in result.findings] == rows, result.err
    assert result.err.startswith(plain.stdout), result.err
