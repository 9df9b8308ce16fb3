"""The recipes of CONTRIBUTING.md, followed to the letter in a copy of the source."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_STEP = re.compile(r"^<!-- recipe: (\w+) (\w+) ?(\S*) -->\n(`{3,})\w+\n(.*?)^\4$", flags=re.MULTILINE | re.DOTALL)
STEPS = _STEP.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in ("src", "scripts", "tests/accelerator"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return tmp_path


def follow(recipe: str, copy: Path) -> list[str]:
    """Do what the recipe says; the files that it touches."""
    touched = []
    for name, step, place, _, block in STEPS:
        if name != recipe:
            continue
        if step == "run":
            for line in block.splitlines():
                done = run(copy, *shlex.split(line)[1:])
                assert done.returncode == 0, done.stderr
            continue
        touched.append(place)
        path = copy / place
        if step == "write":
            assert not path.exists()
            path.write_text(block, "utf-8")
        else:
            lines = block.splitlines()
            before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
            after = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
            text = path.read_text("utf-8")
            assert text.count(before) == 1, f"{place} has not, or not once:\n{before}"
            path.write_text(text.replace(before, after), "utf-8")
    return touched


def run(copy: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    return subprocess.run([sys.executable, *command], cwd=copy, env=environment, capture_output=True, text=True)


def check(copy: Path, code: str, *options: str) -> list[str]:
    (copy / "example.py").write_text(code, "utf-8")
    done = run(copy, "-m", "tonumpy", "check", "--isolated", "--output-format=concise", *options, "example.py")
    assert done.returncode in (0, 1), done.stderr
    return re.findall(r"TNP\d+", done.stdout)


@pytest.mark.slow
def test_a_sink(copy: Path) -> None:
    pytest.importorskip("torch")
    example = (
        "import decimal\nimport torch\n\n\ndef f(device):\n"
        "    return decimal.Decimal(torch.zeros((), device=device)), decimal.Decimal(torch.zeros(()).item())\n"
    )
    assert check(copy, example) == []
    assert follow("sink", copy) == ["scripts/sink_trials/libraries.toml", "src/tonumpy/text/prefilter.py"]
    assert check(copy, example) == ["TNP104"]
    table = json.loads((copy / "src/tonumpy/detectors/libraries/decimal.json").read_text("utf-8"))
    assert any("!" in line for lines in table["functions"].values() for line in lines)
