"""Runs `tonumpy rehearse`: words -> the exit code and what it printed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from time_limits import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="runs real torch")
LEARN = "import torch\n\nweight = torch.ones(2, requires_grad=True)\n"


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def findings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.out)
        return found


def tonumpy(folder: Path, *arguments: str) -> Result:
    done = subprocess.run(
        [sys.executable, "-m", "tonumpy", *arguments], cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    return Result(done.returncode, done.stdout, done.stderr)


def rehearse(folder: Path, *arguments: str) -> Result:
    """With the report as JSON."""
    return tonumpy(folder, "rehearse", "--output-format", "json", *arguments)
