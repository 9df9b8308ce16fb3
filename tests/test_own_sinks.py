"""`[[tool.tonumpy.sinks]]`: functions of one's own that make arrays of arguments, on the command and under flake8."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

SETTINGS = """\
[tool.tonumpy]
[[tool.tonumpy.sinks]]
function = "mylib.viz.show"
converts = [0, "image"]
keeps-value = true

[[tool.tonumpy.sinks]]
function = ["mylib.save", "mylib.Log.add"]
converts = "values"
"""
VIZ = """\
from mylib import _native


def show(image, title=""):
    return _native.as_array(image)
"""
USES = """\
import mylib
import torch
from mylib import viz as v
from mylib.viz import show as display


def f(x: torch.Tensor):
    v.show(x.cuda())  # 1
    display(title="a", image=x.requires_grad_())  # 1
    display([x.cuda(), x.detach().cpu()])  # 1
    mylib.save("path", values=x.cuda())  # 1
    mylib.Log.add(values=x.requires_grad_())  # 1
    v.show(x.detach().cpu())
    v.show(title=x.cuda())
    mylib.save(x.cuda())
    v.draw(x.cuda())
    x.show(x.cuda())


def g(x: torch.Tensor):
    import mylib.viz

    mylib.viz.show(x.cuda())  # 1
"""
RELATIVE = """\
import torch

from . import viz
from .viz import show


def f(x: torch.Tensor):
    show(x.cuda())  # 1
    viz.show(x.cuda())  # 1
"""
OWN = f"import torch\n\n{VIZ}\n\ndef f(x: torch.Tensor):\n    show(x.cuda())  # 1\n"


def _rows(text: str) -> list[int]:
    return [row for row, line in enumerate(text.splitlines(), 1) if line.endswith("# 1")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "uses.py").write_text(USES)
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib" / "__init__.py").write_text("")
    (tmp_path / "mylib" / "viz.py").write_text(OWN)
    (tmp_path / "mylib" / "beside.py").write_text(RELATIVE)
    return tmp_path


EXPECTED = {"uses.py": _rows(USES), "mylib/viz.py": _rows(OWN), "mylib/beside.py": _rows(RELATIVE)}


def _found(report: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for path, row in re.findall(r"^(?:\./)?([\w/.]+):(\d+):\d+: TNP104 ", report, re.MULTILINE):
        found.setdefault(path, []).append(int(row))
    return found


def test_what_is_given_to_a_sink_is_found(run_tonumpy: RunTonumpy, folder: Path) -> None:
    result = run_tonumpy("check")
    assert (_found(result.out), result.err) == (EXPECTED, "")
    assert _found(run_tonumpy("check", "--isolated").out) == {}
    assert "# sinks: mylib.viz.show, mylib.save, mylib.Log.add\n" in run_tonumpy("check", "--show-settings").out
    row = EXPECTED["uses.py"][0]
    assert "TNP104" in run_tonumpy("why", f"uses.py:{row}").out
    flake8 = [sys.executable, "-m", "flake8", "--select=TNP", "."]
    told = subprocess.run(flake8, cwd=folder, capture_output=True, text=True)
    assert (_found(told.stdout), told.stderr) == (EXPECTED, "")


def test_what_keeps_its_value_is_repaired(run_tonumpy: RunTonumpy, folder: Path) -> None:
    run_tonumpy("fix")
    text = (folder / "uses.py").read_text()
    assert "    v.show(x.cuda().detach().cpu().numpy())  # 1\n" in text
    assert '    mylib.save("path", values=x.cuda())  # 1\n' in text
    run_tonumpy("fix", "--unsafe-fixes")
    assert '    mylib.save("path", values=x.cuda().detach().cpu().numpy())  # 1\n' in (folder / "uses.py").read_text()
    assert (folder / "mylib" / "viz.py").read_text().count(".detach().cpu().numpy()") == 1


def test_a_file_that_extends_adds_its_own(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "pyproject.toml").rename(folder / "base.toml")
    more = '[tool.tonumpy]\nextend = "base.toml"\n[[tool.tonumpy.sinks]]\nfunction = "mylib.viz.draw"\nconverts = 0\n'
    (folder / "pyproject.toml").write_text(more)
    row = USES.splitlines().index("    v.draw(x.cuda())") + 1
    assert row in _found(run_tonumpy("check", "uses.py").out)["uses.py"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            "function = 'show'\nconverts = 0",
            ": [tool.tonumpy] sinks: row 1 (show): function: expected the full name of",
        ),
        ("function = 'a.b'", ": [tool.tonumpy] sinks: row 1 (a.b): the key `converts` is missing"),
        (
            "function = 'a.b'\nconverts = -1",
            "sinks: row 1 (a.b): converts: expected positions, from 0, or names of those",
        ),
        (
            "function = 'a.b'\nconverts = []",
            "sinks: row 1 (a.b): converts: expected positions, from 0, or names of those",
        ),
        (
            "function = 'a.b'\nconverts = true",
            "sinks: row 1 (a.b): converts: expected positions, from 0, or names of those",
        ),
        (
            "function = 'a.b'\nconverts = 0\nkeeps-value = 1",
            "row 1 (a.b): keeps-value: expected true or false, found 1",
        ),
        ("function = 'a.b'\nconvert = 0", "row 1 (a.b): there is no key `convert`; did you mean `converts`?"),
    ],
)
def test_what_is_wrong_in_a_row(run_tonumpy: RunTonumpy, tmp_path: Path, row: str, told: str) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / "pyproject.toml").write_text(f"[[tool.tonumpy.sinks]]\n{row}\n")
    result = run_tonumpy("check")
    assert (result.code, told in result.err, result.err.count("\n")) == (2, True, 1), result.err
