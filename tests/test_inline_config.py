"""`--config KEY=VALUE` beside files and options, and the output format that a file chooses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

SAFE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(SAFE)
    return tmp_path


def test_a_key_of_the_line_counts_over_the_file_and_under_an_option(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.tonumpy]\nstyle = "links"\nselect = ["TNP102"]\n')
    (folder / "other.toml").write_text('[tool.tonumpy]\nselect = ["TNP103"]\n')
    assert run_tonumpy("check").code == 0
    forced = ("--config", "select=['TNP101']", "--config", "style = 'force'", "--output-format", "pylint")
    result = run_tonumpy("check", *forced)
    assert (result.code, "(fix: Use `.numpy(force=True)`)" in result.out) == (1, True)
    assert run_tonumpy("check", "--config", "select=['TNP101']", "--select", "TNP102").code == 0
    assert run_tonumpy("check", "--config", "other.toml").code == 0
    assert run_tonumpy("check", "--config", "other.toml", "--config", "extend-select=['TNP101']").code == 1
    assert run_tonumpy("check", "--isolated", "--config", "ignore=['TNP1']").code == 0
    shown = run_tonumpy("check", "--show-settings", "--config", "links='needed'", "--config", "jobs=3").out
    assert 'links = "needed"\n' in shown and "jobs = 3\n" in shown
    assert run_tonumpy("why", "a.py:5", "--config", "confidence='low'").code == 0
    table = "promises=[{function='a.b', returns='tensor'}]"
    assert "# promises: a.b\n" in run_tonumpy("check", "--show-settings", "--config", table).out


def test_a_file_that_is_called_like_a_key_is_a_file(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "a=b.toml").write_text('[tool.tonumpy]\nselect = ["TNP103"]\n')
    assert run_tonumpy("check", "--config", "a=b.toml").code == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["style=force"], "--config style=force: not valid TOML: "),
        (["stile='force'"], "--config: [tool.tonumpy] has no key `stile`; did you mean `style`?"),
        (["style='forced'"], '--config: [tool.tonumpy] style: expected "links" or "force", found "forced"'),
        (["gone.toml"], "gone.toml: No such file or directory"),
        (["a.py", "a.py"], "--config: one file may be given, found `a.py` and `a.py`"),
        (["extend='a.py'"], "--config: [tool.tonumpy] has no key `extend`"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_wrong_is_said_in_one_line(run_tonumpy: RunTonumpy, given: list[str], told: str) -> None:
    result = run_tonumpy("check", *(word for each in given for word in ("--config", each)))
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert result.err.startswith(f"tonumpy: error: {told}"), result.err


def test_a_file_chooses_the_output_format(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.tonumpy]\noutput-format = "json"\n')
    assert [each["code"] for each in json.loads(run_tonumpy("check").out)] == ["TNP101"]
    assert run_tonumpy("check", "--output-format", "concise").out.startswith("a.py:5:14: TNP101 ")
    assert run_tonumpy("check", "--isolated").out.startswith("a.py:5:14: TNP101 ")
    assert 'output-format = "json"\n' in run_tonumpy("check", "--show-settings").out
    run_tonumpy("check", "--output-file", "report")
    assert json.loads((folder / "report").read_text())
    assert json.loads(run_tonumpy("fix").out) == []
    assert ".detach().cpu()" in (folder / "a.py").read_text()
    assert run_tonumpy("check", "--config", "output-format='github'").out == ""
    assert "TNP101  bare-numpy" in run_tonumpy("rules").out


def test_a_wrong_format_in_a_file_names_the_file(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.tonumpy]\noutput-format = "jsn"\n')
    result = run_tonumpy("check")
    told = "pyproject.toml: [tool.tonumpy] output-format: unknown format `jsn`; known are azure, concise, "
    assert (result.code, told in result.err, result.err.count("\n")) == (2, True, 1)
