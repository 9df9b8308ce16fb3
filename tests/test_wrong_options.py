"""What is wrong on the command line, in flake8's configuration or in a call is told once, with what is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from libcst.codemod import CodemodContext

from tonumpy import check_paths, check_source, fix_source
from tonumpy.codemod import FixNumpyConversionsCommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import RunTonumpy

SAFE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"

WRONG = {
    "check --confidence lo": "--confidence: invalid choice: 'lo' (choose from ",
    "check --confidence=": "--confidence: invalid choice: '' (choose from ",
    "rules --output-format xml": "--output-format: invalid choice: 'xml' (choose from ",
    "baseline renew": "action: invalid choice: 'renew' (choose from ",
    "baseline": "the following arguments are required: action (see `tonumpy baseline --help`)",
    "explain": "the following arguments are required: CODE (see `tonumpy explain --help`)",
    "check --select TNP1001": "--select: no rule has the code `TNP1001`; did you mean `TNP101`?",
    "check --output-format jsn": "--output-format: unknown format `jsn`",
    "check -j many": "-j/--jobs: expected a number of processes",
    "check --config": "--config: expected one argument",
    "check -q -v": "-v/--verbose: not allowed with argument -q/--quiet",
    "check -x": "unrecognized arguments: -x (see `tonumpy check --help`)",
    "check --fix": "unrecognized arguments: --fix; use `tonumpy fix`",
    "chek": "COMMAND: invalid choice: 'chek' (choose from ",
    "--chek": "unrecognized arguments: --chek (see `tonumpy --help`)",
    "sweep a b --workers 0": "--workers: expected a number above 0, found `0`",
    "sweep a b -- --confidence lo": "--confidence: invalid choice: 'lo'",
    "--print-completion dash": "--print-completion: unknown shell `dash`; known are bash, zsh, tcsh",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_option_is_one_line(run_tonumpy: RunTonumpy, words: str) -> None:
    result = run_tonumpy(*words.split(" "))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tonumpy: error: {WRONG[words]}"), result.err
    assert result.err.count("\n") == 1


def test_flake8_tells_of_a_wrong_value_once(tmp_path: Path) -> None:
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(SAFE)
    (tmp_path / ".flake8").write_text("[flake8]\ntonumpy-confidence = lo\n")
    run = subprocess.run([sys.executable, "-m", "flake8"], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 1
    told = 'tonumpy-confidence: expected "high", "medium" or "low", found "lo"'
    assert (run.stdout + run.stderr).count(told) == 1
    assert "TNP900" not in run.stdout
    assert "Traceback" not in run.stdout + run.stderr


CALLS: dict[str, Callable[[], object]] = {
    'confidence: expected "high", "medium" or "low", found "hi"': lambda: check_source(SAFE, confidence="hi"),  # type: ignore[arg-type]
    'style: expected "links" or "force", found "hi"': lambda: fix_source(SAFE, style="hi"),  # type: ignore[call-overload]
    'style: expected "links" or "force", found "ho"': lambda: check_source(SAFE, style="ho"),  # type: ignore[arg-type]
    'confidence: expected "high", "medium" or "low", found "lo"': lambda: check_paths(["."], confidence="lo"),  # type: ignore[arg-type]
    "disable-habits: unknown habit `label`; did you mean": lambda: check_source(SAFE, disable_habits=["label"]),
    'strict: expected true or false, found "yes"': lambda: check_source(SAFE, strict="yes"),  # type: ignore[arg-type]
    "jobs: expected a number of processes": lambda: check_paths(["."], jobs=-1),
    "select: no rule has the code `TNP1001`": lambda: check_source(SAFE, select=["TNP1001"]),
    'ignore: expected a list of strings, found "TNP1"': lambda: check_paths(["."], ignore="TNP1"),
    'style: expected "links" or "force", found "he"': lambda: FixNumpyConversionsCommand(CodemodContext(), style="he"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", CALLS)
def test_a_wrong_argument_of_a_call_is_a_value_error(message: str) -> None:
    with pytest.raises(ValueError) as caught:
        CALLS[message]()
    assert str(caught.value).startswith(message)
