"""scripts/measure_breadth.py, on a repository that is made here in place of the public ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

SCRIPT = Path(__file__).parents[1] / "scripts/measure_breadth.py"
PROGRAM = """
import sys
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
words = open("words/train.txt").read().split()
x = torch.rand(3).to(device)
print("loss", 9.0)
print(f"loss: {float(x.sum()) * len(words):.4f}")
if sys.argv[1] == "convert":
    x.numpy()
sys.exit(3)
"""
TABLE = """
[[repository]]
name = "owner/small"
commit = "COMMIT"
programs = [
    { file = "programs/main.py", arguments = "convert {cuda:more}", data = ["texts:words"] },
    { file = "programs/second.py", arguments = "{device}", data = ["texts:words"], edits = [["sys.exit(3)", ""]] },
]
"""


def _git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_programs_run_plain_and_rehearsed(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "programs").mkdir(parents=True)
    for name in ("main", "second"):
        (source / f"programs/{name}.py").write_text(PROGRAM)
    _git(source, "init", "-q")
    _git(source, "add", ".")
    _git(source, "commit", "-q", "-m", "all")
    (tmp_path / "owner+small").mkdir()
    _git(tmp_path, "clone", "-q", "--bare", str(source), "owner+small/repo")
    table, page, work = tmp_path / "table.toml", tmp_path / "page.md", tmp_path / "work"
    table.write_text(TABLE.replace("COMMIT", _git(source, "rev-parse", "HEAD").strip()))
    options = ["--clones", tmp_path, "--work", work, "--table", table, "--page", page]
    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads((work / "results.json").read_text())
    first, second = results["owner/small/programs/main.py"], results["owner/small/programs/second.py"]
    assert [first[way]["code"] for way in ("plain", "rehearsed")] == [3, 3]
    assert first["plain"]["loss"] == first["rehearsed"]["loss"] != "9.0"
    assert (first["plain"]["findings"], first["rehearsed"]["findings"]) == ([], ["TNP101 main.py:12"])
    assert [second[way]["code"] for way in ("plain", "rehearsed")] == [0, 0]
    assert "2 of 2 ended with the same exit code, 2 with the same last loss; 1 findings were told." in page.read_text()
