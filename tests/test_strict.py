"""Strict leaves no conversion without both links unreported, whatever else is selected, ignored or asked for."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tonumpy import check_source
from tonumpy.cli.main import main

# Each conversion on a row of its own: those without both links are named `open`, the others `complete`.
MODULE = """\
import matplotlib.pyplot as plt
import numpy as np
import torch


def bare(open: torch.Tensor):
    return open.numpy()


def half(open: torch.Tensor):
    a = open.cpu().numpy()
    b = open.detach().numpy()
    return a, b


def nothing_known(open, batch):
    a = open.numpy()
    for open in torch.utils.data.DataLoader(batch):
        a = open["labels"].numpy()
    return a


def proved():
    open = torch.zeros(3)
    with torch.no_grad():
        a = open.numpy()
    return a, torch.nn.Linear(2, 2).weight.numpy()  # open


def caught(open: torch.Tensor):
    try:
        return open.numpy()
    except (RuntimeError, TypeError):
        return open.detach().cpu().numpy()  # complete


def given(open: torch.Tensor):
    plt.plot(open.cuda())
    return np.median(open.requires_grad_())


def done(complete: torch.Tensor):
    np.median(complete.detach().cpu())
    return complete.detach().cpu().numpy(), complete.numpy(force=True)
"""
OPEN = {
    row
    for row, line in enumerate(MODULE.splitlines(), 1)
    if "open" in line and (".numpy()" in line or "plt.plot" in line or "np.median" in line) and "complete" not in line
}

SELECTS = ((), ("TNP1",), ("TNP102",), ("TNP300",), ("TNP3",), ("ALL",), ("TNP101", "TNP300"))
IGNORES = ((), ("TNP101",), ("TNP1",), ("TNP",), ("TNP102", "TNP104"), ("TNP300",))
CONFIDENCES = ((), ("low",), ("medium",), ("high",))


def _options(name: str, words: tuple[str, ...]) -> list[str]:
    return [f"--{name}={','.join(words)}"] if words else []


def _asks_for_strict(select: tuple[str, ...], ignore: tuple[str, ...], strict: bool) -> bool:
    asked = ["TNP300"] if strict else [code for code in select if code in ("TNP300", "TNP3", "ALL")]
    length = max((0 if code == "ALL" else len(code) for code in asked), default=-1)
    return length > max((len(code) for code in ignore if "TNP300".startswith(code)), default=-1)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("ignore", IGNORES, ids=" ".join)
def test_every_combination(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ignore: tuple[str, ...],
    strict: bool,
) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    for select, confidence in itertools.product(SELECTS, CONFIDENCES):
        options = [*_options("select", select), *_options("ignore", ignore), *_options("confidence", confidence)]
        options += ["--strict"] if strict else []
        code = main(["check", "--isolated", "--output-format=json", *options, "module.py"])
        found = json.loads(capsys.readouterr().out)
        assert code == (1 if found else 0)
        of_links = {each["location"]["row"] for each in found if each["code"] in LINKS}
        if _asks_for_strict(select, ignore, strict):
            assert of_links == OPEN, options
        else:
            assert of_links <= OPEN, options
            assert "TNP300" not in {each["code"] for each in found}, options


LINKS = {"TNP101", "TNP102", "TNP103", "TNP104", "TNP300"}


def test_one_conversion_is_not_reported_twice() -> None:
    codes = {finding.start.row: [] for finding in check_source(MODULE, strict=True)}
    for finding in check_source(MODULE, strict=True):
        codes[finding.start.row].append(finding.code)
    assert all(len(each) == 1 for each in codes.values()), codes


@pytest.mark.parametrize(
    "options",
    [
        ["--select", "TNP300"],
        ["--strict", "--ignore", "TNP101"],
        ["--strict", "--confidence", "high"],
        ["--config", "strict.toml"],
    ],
    ids=" ".join,
)
def test_the_gate_of_the_command(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "module.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n")
    (tmp_path / "strict.toml").write_text('[tool.tonumpy]\nstrict = true\nignore = ["TNP1"]\n')
    run = subprocess.run(
        [sys.executable, "-m", "tonumpy", "check", *options, "."], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 1
    assert "module.py:5:14: TNP300 [*] `.numpy()` without `.detach()` and `.cpu()`: strict" in run.stdout
    fixed = [sys.executable, "-m", "tonumpy", "fix", *options, "."]
    assert subprocess.run(fixed, capture_output=True, text=True, cwd=tmp_path).returncode == 0
    assert "return x.detach().cpu().numpy()" in (tmp_path / "module.py").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--select=TNP300"],
        ["--tonumpy-strict", "--extend-ignore=TNP1"],
        ["--tonumpy-strict", "--tonumpy-confidence=high"],
        ["--tonumpy-strict", "--per-file-ignores=module.py:TNP1"],
        ["--select=TNP", "--extend-select=TNP300", "--ignore=TNP101,TNP102,TNP103"],
    ],
    ids=" ".join,
)
def test_the_gate_of_flake8(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "module.py").write_text(MODULE)
    run = subprocess.run([sys.executable, "-m", "flake8", *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert run.stderr == ""
    found = [line.split(":", 3) for line in run.stdout.splitlines() if "TNP" in line]
    assert {int(row) for _, row, *_ in found} == OPEN
    assert {text.split()[0] for *_, text in found} & {"TNP300"}


def test_a_comment_that_silences_either_code_is_needed(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()  # noqa: {}\n"
    for code in ("TNP101", "TNP300"):
        (tmp_path / "module.py").write_text(text.format(code))
        options = ["--strict", *(["--ignore=TNP1"] if code == "TNP300" else []), "--extend-select=TNP901"]
        run = subprocess.run(
            [sys.executable, "-m", "tonumpy", "check", *options, "."], capture_output=True, text=True, cwd=tmp_path
        )
        assert run.stdout == "All checks passed!\n", run.stdout
