"""The LibCST codemod, run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from time_limits import PATIENCE

BEFORE = "import torch\r\n\r\n\r\ndef f(x: torch.Tensor):\r\n    return x.numpy()  # é\r\n"
AFTER = BEFORE.replace("x.numpy()", "x.detach().cpu().numpy()")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["-m", "libcst.tool", "codemod", "--no-format", "-x", "tonumpy.codemod.FixNumpyConversionsCommand"]
    environment = {name: value for name, value in os.environ.items() if name != "LIBCST_TOOL_REQUIRE_CONFIG"}
    return subprocess.run(
        [sys.executable, *command, "--hide-progress", "-j", "1", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )


def test_a_folder(tmp_path: Path) -> None:
    """One run over everything: LibCST's own start takes most of its time."""
    files = {
        "plain.py": (BEFORE.encode(), AFTER.encode()),
        "mark.py": (b"\xef\xbb\xbf" + BEFORE.encode(), b"\xef\xbb\xbf" + AFTER.encode()),
        "latin.py": tuple(f"# coding: latin-1\r\n{text}".encode("latin-1") for text in (BEFORE, AFTER)),
        "clean.py": (AFTER.encode(), AFTER.encode()),
        "form_feed.py": (BEFORE.replace("\ndef", "\n\x0cdef").encode(),) * 2,
        "left.py": (BEFORE.replace("x.numpy()", "f'{x.numpy()=}'").encode(),) * 2,
    }
    for name, (before, _) in files.items():
        (tmp_path / name).write_bytes(before)
    done = run(tmp_path, ".")
    assert done.returncode == 0, done.stderr
    for name, (_, after) in files.items():
        assert (tmp_path / name).read_bytes() == after, name
    assert "LibCST does not give this file back byte for byte; `tonumpy fix` does" in done.stderr
    assert " - Skipped 1 files." in done.stderr
    assert "left.py:5:17: TNP101 `.numpy()`" in done.stderr
    assert " - 1 warnings were generated." in done.stderr


@pytest.mark.parametrize(
    ("options", "before", "after"),
    [
        pytest.param(
            ["--style", "force"], "def f(x: torch.Tensor): x.numpy()", "def f(x: torch.Tensor): x.numpy(force=True)"
        ),
        pytest.param(["--strict"], "torch.zeros(3).numpy()", "torch.zeros(3).detach().cpu().numpy()"),
        pytest.param(["--unsafe-fixes"], "def f(x): x.numpy()", "def f(x): x.detach().cpu().numpy()"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_options(tmp_path: Path, options: list[str], before: str, after: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"import torch\n{before}\n")
    done = run(tmp_path, *options, "module.py")
    assert done.returncode == 0, done.stderr
    assert path.read_text() == f"import torch\n{after}\n"


def test_the_settings_of_a_file_are_those_of_its_pyproject(tmp_path: Path) -> None:
    """As with `tonumpy fix`; an option counts over them."""
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\nstyle = "force"\nexclude = ["vendor"]\n')
    for name in ("a.py", "b.py", "vendor/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(BEFORE.encode())
    done = run(tmp_path, "a.py", "vendor")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.py").read_bytes() == BEFORE.replace("x.numpy()", "x.numpy(force=True)").encode()
    assert (tmp_path / "vendor" / "c.py").read_bytes() == BEFORE.encode()
    assert "excluded by the settings, or in a folder of installed packages" in done.stderr
    assert run(tmp_path, "--style", "links", "b.py").returncode == 0
    assert (tmp_path / "b.py").read_bytes() == AFTER.encode()


def test_help(tmp_path: Path) -> None:
    done = run(tmp_path, "--help")
    assert done.returncode == 0
    assert "Make `.numpy()` on PyTorch tensors safe" in done.stdout
    assert "--unsafe-fixes" in done.stdout
