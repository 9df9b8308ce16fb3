"""What each face of the command says of a notebook, and writes into one, is as of a module: places, lines, comments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from test_notebooks import FLAGGED, notebook, sources

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

TWO_ROWS = ["y = 1\n", f"y = {FLAGGED}"]


def test_repairs_are_told_with_their_cells(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(notebook(FLAGGED, TWO_ROWS))
    told = [
        "a.ipynb:cell 2:1:3: {} TNP101: Add `.detach().cpu()`",
        "a.ipynb:cell 3:2:7: {} TNP101: Add `.detach().cpu()`",
    ]
    shown = run_tonumpy("fix", "--diff", "--show-fixes").err
    assert shown.splitlines()[: len(told)] == [line.format("would fix") for line in told]
    shown = run_tonumpy("fix", "--show-fixes").out
    assert shown.splitlines()[: len(told)] == [line.format("fixed") for line in told]


def test_the_full_format_shows_the_lines_of_the_cell(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(notebook(["%matplotlib inline\n", "é = '日本'; a = x.numpy()"]))
    assert run_tonumpy("check", "--output-format", "full", "-q").out.splitlines()[1:-1] == [
        " --> a.ipynb:cell 2:2:17",
        "  |",
        "2 | é = '日本'; a = x.numpy()",
        "  |                   ^^^^^^^",
        "help: Add `.detach().cpu()`",
        "2 | é = '日本'; a = x.detach().cpu().numpy()",
        "  |                  +++++++++++++++",
    ]


def test_evidence_shows_the_line_of_the_cell(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "b.ipynb").write_text(notebook(["def score(labels):\n", "    return labels.cpu().numpy()"]))
    shown = run_tonumpy("check", "--confidence", "low", "--show-evidence", "--output-format", "full", "-q").out
    assert "        2 | def score(labels):\n" not in shown
    assert "        1 | def score(labels):\n" in shown
    assert "        1 | def score(labels):\n" in run_tonumpy("why", "b.ipynb:cell 2:2").out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "commented"),
    [
        (FLAGGED, f"{FLAGGED}  # noqa: TNP101"),
        (TWO_ROWS, ["y = 1\n", f"y = {FLAGGED}  # noqa: TNP101"]),
        ([f"{FLAGGED}\n", "y = 1"], [f"{FLAGGED}  # noqa: TNP101\n", "y = 1"]),
        (f"{FLAGGED}\r\ny = '日本'", f"{FLAGGED}  # noqa: TNP101\r\ny = '日本'"),
        (f"y = '\t\"'; {FLAGGED}", f"y = '\t\"'; {FLAGGED}  # noqa: TNP101"),
        (f"{FLAGGED}  # noqa: E501", f"{FLAGGED}  # noqa: E501, TNP101"),
        ([f"y = {FLAGGED}, '''\n", "'''\n"], [f"y = {FLAGGED}, '''\n", "'''  # noqa: TNP101\n"]),
        (["%%time\n", f"{FLAGGED}\n"], ["%%time\n", f"{FLAGGED}  # noqa: TNP101\n"]),
        (["!ls\n", f"%time {FLAGGED}\n"], ["!ls\n", f"%time {FLAGGED}  # noqa: TNP101\n"]),
        (f"    {FLAGGED}", f"    {FLAGGED}  # noqa: TNP101"),
        (f"{FLAGGED};", f"{FLAGGED};  # noqa: TNP101"),
    ],
)
def test_a_comment_is_written_into_the_cell(
    run_tonumpy: RunTonumpy, tmp_path: Path, cell: str | list[str], commented: str | list[str]
) -> None:
    path = tmp_path / "a.ipynb"
    path.write_bytes(notebook(cell, "z = 1").encode())
    result = run_tonumpy("check", "--add-noqa")
    assert (result.code, result.out, result.err) == (0, "Silenced 1 finding in 1 file.\n", "")
    assert path.read_bytes().decode() == notebook(commented, "z = 1")
    assert run_tonumpy("check")[:3] == (0, "All checks passed!\n", "")
    assert run_tonumpy("check", "--select", "TNP901").code == 0
    assert run_tonumpy("check", "--add-noqa").out == "No findings to silence.\n"


def test_a_comment_is_written_where_another_cell_cannot_be_parsed(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook("def (:", FLAGGED))
    result = run_tonumpy("check", "--add-noqa")
    assert (result.code, result.err.startswith("a.ipynb:cell 2:1:5: error: ")) == (2, True)
    assert sources(path.read_text())[1:] == ["def (:", f"{FLAGGED}  # noqa: TNP101"]


def test_a_comment_in_a_cell_that_would_have_no_effect_is_not_written(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    text = notebook("y = 1", f"{FLAGGED}, '# noqa: E501'")
    (tmp_path / "a.ipynb").write_text(text)
    result = run_tonumpy("check", "--add-noqa")
    told = "a.ipynb:cell 3:1:3: error: no comment added: flake8 reads another `noqa` in the line, and the new one would"
    told += " have no effect\n"
    assert (result.code, result.err, (tmp_path / "a.ipynb").read_text()) == (2, told, text)


def test_a_baseline_knows_the_lines_of_cells(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(FLAGGED))
    run_tonumpy("baseline", "write")
    (entry,) = json.loads((tmp_path / "tonumpy-baseline.json").read_text())["findings"]
    assert entry["line"] == FLAGGED
    path.write_text(notebook("z = 1", FLAGGED))
    assert run_tonumpy("check", "--baseline", "tonumpy-baseline.json").code == 0
    path.write_text(notebook(f"other = {FLAGGED}"))
    assert run_tonumpy("check", "--baseline", "tonumpy-baseline.json").code == 1


def test_rdjson_offers_no_edit_of_the_json(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """The edits are those of the cell, and in the JSON text something else stands there."""
    (tmp_path / "a.ipynb").write_text(notebook(["'é'\n", f"y = {FLAGGED}"], "def (:"))
    finding, error = json.loads(run_tonumpy("check", "--output-format", "rdjson").out)["diagnostics"]
    lines = (tmp_path / "a.ipynb").read_text().splitlines()
    start = finding["location"]["range"]["start"]
    assert lines[start["line"] - 1][start["column"] - 1 :].startswith("numpy()")
    assert "suggestions" not in finding
    assert error["location"]["range"]["start"] == {"line": 1, "column": 1}
