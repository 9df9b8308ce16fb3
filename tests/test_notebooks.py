"""Notebooks: what is found in their cells and where, and that a fix leaves every other byte of the JSON text alone."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fixture_format import FOLDER, Expected, expectations

from tonumpy import Finding, SourceError, check_paths, check_source, fix_source
from tonumpy.text.magics import python_of
from tonumpy.text.notebook_json import sources_in

if TYPE_CHECKING:
    from conftest import RunTonumpy


FOLDER = FOLDER / "notebooks"
FIXTURES = [path for path in sorted(FOLDER.glob("**/*.ipynb")) if not path.name.endswith(".fixed.ipynb")]

each_fixture = pytest.mark.parametrize("path", FIXTURES, ids=[path.stem for path in FIXTURES])

TENSOR = ["import torch\n", "x: torch.Tensor = torch.nn.Parameter(torch.zeros(2))"]
FLAGGED = "x.numpy()"
FIXED = "x.detach().cpu().numpy()"


def notebook(*cells: str | list[str], **fields: object) -> str:
    """One of code cells; a first one makes the tensor `x`."""
    made = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"c{number}",
            "metadata": {},
            "outputs": [],
            "source": cell,
        }
        for number, cell in enumerate([TENSOR, *cells])
    ]
    metadata = {"language_info": {"name": "python"}}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5, **fields}, indent=1)


def sources(document: str | bytes) -> list[str]:
    """Of all cells."""
    return ["".join(cell["source"]) for cell in json.loads(document)["cells"]]


def rows_of(source: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", source)


def expected_in(path: Path) -> list[tuple[int, Expected]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        (number, expected)
        for number, cell in enumerate(cells, 1)
        if cell["cell_type"] == "code"
        for row, line in enumerate(rows_of("".join(cell["source"])), 1)
        for expected in expectations(line, row, path)
    ]


def place(finding: Finding) -> tuple[int, Expected]:
    assert finding.cell is not None
    applicability = finding.fix.applicability if finding.fix else "display-only"
    return finding.cell.number, Expected(*finding.start, finding.code, applicability)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # of the cells that cannot be parsed
@each_fixture
def test_findings(path: Path) -> None:
    assert [place(each) for each in check_source(path.read_bytes(), str(path))] == expected_in(path)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@each_fixture
def test_fix(path: Path, update_fixtures: bool) -> None:
    before = path.read_bytes()
    after = fix_source(before, str(path))
    twin = path.with_name(f"{path.stem}.fixed.ipynb")
    if update_fixtures and after != before:
        twin.write_bytes(after)
    assert twin.exists() == bool(expected_in(path))
    assert after == (twin.read_bytes() if twin.exists() else before)
    assert fix_source(after, str(path)) == after
    assert check_source(after, str(path)) == []


@each_fixture
def test_a_fix_changes_nothing_but_sources(path: Path) -> None:
    twin = path.with_name(f"{path.stem}.fixed.ipynb")
    if not twin.exists():
        pytest.skip("nothing is fixed in it")
    old, new = (json.loads(each.read_bytes()) for each in (path, twin))
    for one, other in zip(old["cells"], new["cells"], strict=True):
        assert type(one["source"]) is type(other["source"])
        one["source"] = other["source"] = ""
    assert old == new
    assert list(old) == list(new)


@pytest.mark.skipif(importlib.util.find_spec("nbformat") is None, reason="nbformat is not installed")
def test_what_is_fixed_is_valid_for_nbformat() -> None:
    program = (
        "import sys, nbformat\nfor path in sys.argv[1:]: nbformat.validate(nbformat.read(path, nbformat.NO_CONVERT))"
    )
    paths = [str(path) for path in FOLDER.glob("**/*.fixed.ipynb")]
    assert paths
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, *paths], check=True)


def test_the_command_agrees(run_tonumpy: RunTonumpy) -> None:
    """In text and in JSON, in every fixture, with the other files of the folder."""
    result = run_tonumpy("check", "--isolated", "--output-format", "json", *map(str, FIXTURES))
    assert result.code == 2  # for the cells of unparsable.ipynb
    entries = [entry for entry in json.loads(result.out) if entry["code"].startswith("TNP")]
    found = [
        (entry["filename"], entry["cell"], entry["location"]["row"], entry["location"]["column"], entry["code"])
        for entry in entries
    ]
    expected = [
        (str(path), cell, each.row, each.column, each.code) for path in FIXTURES for cell, each in expected_in(path)
    ]
    assert found == sorted(expected, key=lambda entry: entry[0])
    assert all(entry["noqa_row"] == entry["location"]["row"] for entry in entries)
    lines = run_tonumpy("check", "--isolated", *map(str, FIXTURES)).out.splitlines()
    starts = [f"{name}:cell {cell}:{row}:{column}: {code} " for name, cell, row, column, code in found]
    assert len(lines) > len(starts)
    assert all(line.startswith(start) for line, start in zip(lines, starts, strict=False))


def test_edits_are_those_of_the_cell() -> None:
    (finding,) = check_source(notebook(["y = 1\n", f"y = {FLAGGED}"]), "a.ipynb")
    assert finding.fix is not None
    assert finding.fix.edits == (((2, 6), (2, 6), ".detach().cpu()"),)


# how cells are counted


def test_cells_count_as_ruffs(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """Cells of all kinds, empty ones and other languages' too."""
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    (tmp_path / "a.ipynb").write_text(counted())
    command = [ruff, "check", "--isolated", "--select", "F821", "--output-format", "json", "a.ipynb"]
    theirs = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout)
    ours = json.loads(run_tonumpy("check", "--output-format", "json").out)
    # what ruff finds is the undefined name in the row after each conversion
    assert [(each["cell"], each["location"]["row"] - 1) for each in theirs] == [
        (each["cell"], each["location"]["row"]) for each in ours
    ]
    assert [each["cell"] for each in ours] == [3, 6]


@pytest.mark.skipif(importlib.util.find_spec("nbqa") is None, reason="nbqa is not installed")
def test_flake8_by_nbqa_finds_the_same(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """nbqa counts code cells only."""
    document = counted()
    (tmp_path / "a.ipynb").write_text(document)
    kinds = [cell["cell_type"] for cell in json.loads(document)["cells"]]
    command = [sys.executable, "-W", "ignore", "-m", "nbqa", "flake8", "a.ipynb", "--isolated", "--select", "TNP"]
    lines = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    matches = [re.match(r"a\.ipynb:cell_(\d+):(\d+):(\d+): (TNP\d+)", line) for line in lines]
    code_cells = [number for number, kind in enumerate(kinds, 1) if kind == "code"]
    theirs = [(code_cells[int(each[1]) - 1], int(each[2]), int(each[3]), each[4]) for each in matches if each]
    ours = json.loads(run_tonumpy("check", "--output-format", "json").out)
    assert len(theirs) == 2
    assert theirs == [
        (each["cell"], each["location"]["row"], each["location"]["column"], each["code"]) for each in ours
    ]


def counted() -> str:
    document = json.loads(notebook("", f"%cd ..\n{FLAGGED}\nnowhere", "%%bash\nls", "", f"{FLAGGED}\nnowhere"))
    words = {"cell_type": "markdown", "id": "words", "metadata": {}, "source": ["words"]}
    document["cells"][1] = words
    return json.dumps(document)


# what cannot be read


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ('{"cells": [}', "a.ipynb:1:12: cannot be read as a notebook: no JSON: "),
        ("", "a.ipynb:1:1: cannot be read as a notebook: no JSON: "),
        ("[]", "a.ipynb:1:1: cannot be read as a notebook: no notebook"),
        (
            '{"cells":\n [{"cell_type": "code", "source": [1]}]}',
            "a.ipynb:1:1: cannot be read as a notebook: no notebook",
        ),
        ("{} {}", "a.ipynb:1:4: cannot be read as a notebook: no JSON: Extra data"),
        ("{}", "a.ipynb: cannot be read as a notebook: its format has no version (`nbformat`)"),
        ('{"metadata": ' + "[" * 100_000, "a.ipynb:1:1: cannot be read as a notebook: nested too deeply"),
        (notebook(nbformat=3), "a.ipynb: is not checked: a notebook of format 3; "),
        (notebook(metadata={"language_info": {"name": "R"}}), "a.ipynb: is not checked: a notebook of the language R"),
        (
            notebook(metadata={"kernelspec": {"language": "julia"}}),
            "a.ipynb: is not checked: a notebook of the language",
        ),
    ],
)
def test_what_is_no_notebook_of_python(document: str, error: str, run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    with pytest.raises(SourceError) as raised:
        check_source(document, "a.ipynb")
    assert str(raised.value).startswith(error)
    (tmp_path / "a.ipynb").write_text(document)
    result = run_tonumpy("check", "a.ipynb")
    assert result.code == 2
    assert result.err.replace(" error: ", " ", 1).startswith(error)
    assert "passed" not in result.out


def test_bytes_that_are_no_utf_8() -> None:
    with pytest.raises(SourceError, match="cannot be decoded as utf-8"):
        check_source(notebook("'?'").encode().replace(b"?", b"\xff"), "a.ipynb")


def test_a_coding_cookie_means_nothing_in_json() -> None:
    document = "#".join(['{"x": "', ' coding: latin-1\\u00e9",' + notebook("'\u00e9', x.numpy()")[1:]])
    (finding,) = check_source(document.encode(), "a.ipynb")
    assert finding.start == (1, 8)


def test_cells_that_cannot_be_parsed_are_named_and_the_others_go_on(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(notebook("y = (\n", FLAGGED, "  z = 1\n  else 2"))
    result = run_tonumpy("fix")
    assert result.code == 2
    errors = result.err.splitlines()
    assert [error.partition(": error: cannot be parsed: ")[0] for error in errors] == [
        "a.ipynb:cell 2:1:5",
        "a.ipynb:cell 4:2:3",
    ]
    assert sources((tmp_path / "a.ipynb").read_bytes())[1:] == ["y = (\n", FIXED, "  z = 1\n  else 2"]
    with pytest.warns(SyntaxWarning) as warned:
        assert check_source((tmp_path / "a.ipynb").read_bytes(), "a.ipynb") == []
    assert [str(each.message).partition(": cannot be parsed: ")[0] for each in warned] == [
        "a.ipynb:cell 2:1:5",
        "a.ipynb:cell 4:2:3",
    ]


def test_a_notebook_without_a_conversion_is_not_parsed(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text('{"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, "cells": ?')
    assert run_tonumpy("check", "a.ipynb").code == 0


# where notebooks come from


def test_standard_input(run_tonumpy: RunTonumpy) -> None:
    document = notebook(FLAGGED)
    result = run_tonumpy("check", "--stdin-filename", "a.ipynb", stdin=document.encode())
    assert result.out.startswith("a.ipynb:cell 2:1:3: TNP101")
    fixed = run_tonumpy("fix", "--stdin-filename", "a.ipynb", stdin=document.encode())
    assert fixed.out == document.replace(FLAGGED, FIXED)


def test_a_folder_with_notebooks(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "deep" / ".ipynb_checkpoints").mkdir(parents=True)
    for name in ("deep/a.ipynb", "deep/.ipynb_checkpoints/a.ipynb"):
        (tmp_path / name).write_text(notebook(FLAGGED))
    assert "Found 1 finding in 1 file." in run_tonumpy("check").out


def test_the_diff_is_a_patch(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(FLAGGED))
    patch = run_tonumpy("fix", "--diff", "a.ipynb").out_bytes
    run_tonumpy("fix", "a.ipynb")
    fixed = path.read_bytes()
    path.write_text(notebook(FLAGGED))
    subprocess.run(["git", "apply", "-p0", "-"], input=patch, cwd=tmp_path, check=True)
    assert path.read_bytes() == fixed


def test_reports_for_machines_show_the_json(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(notebook(["'\u00e9'\n", f"y = {FLAGGED}"]))
    lines = enumerate((tmp_path / "a.ipynb").read_text().splitlines(), 1)
    ((row, column),) = [(row, line.index("numpy") + 1) for row, line in lines if FLAGGED in line]
    github = run_tonumpy("check", "--output-format", "github").out
    assert f"a.ipynb,line={row},col={column},endLine={row},endColumn={column + 7}::a.ipynb:cell 2:2:7: " in github
    (result,) = json.loads(run_tonumpy("check", "--output-format", "sarif").out)["runs"][0]["results"]
    (location,) = result["locations"]
    assert location["physicalLocation"]["region"] == {
        "startLine": row,
        "startColumn": column,
        "endLine": row,
        "endColumn": column + 7,
    }
    assert location["logicalLocations"] == [{"name": "cell 2", "fullyQualifiedName": "a.ipynb:cell 2:2:7"}]


# what IPython understands


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("a = 1\n", "a = 1\n"),
        ("%cd x\na", "pass\na"),
        ("  !ls\n", "  pass\n"),
        ("!ls \\\n  (\na", "pass\n\na"),
        ("a = !ls (\r\nb", "a = __\r\nb"),
        ("a = b = %time c", "a = b =" + " " * 7 + "c"),
        ("a = %timeit c", "a = __"),
        ("a == 1; b != 2", "a == 1; b != 2"),
        ("a?\nb??\n*c*?;", "pass\npass\npass"),
        ("f('''\n%a\n''')", "f('''\n%a\n''')"),
        ("f(a\n% b)\n%c", "f(a\n% b)\npass"),
        ("'''a'''\n'?'\n\"it's\"\n%b", "'''a'''\n'?'\n\"it's\"\npass"),
        ("a = 1  # what?\n# %b\n%c", "a = 1  # what?\n# %b\npass"),
        ("a = \\\n  1\n%b", "a = \\\n  1\npass"),
        ("%time a = b()", "0;    a = b()"),
        ("%time a(", "pass"),
        ("%timeit -r 2 a", "pass"),
        ("%%time\na", "pass\na"),
        ("\n# a\n%%capture b\n%c", "\n# a\npass\npass"),
        ("%%html\n<b>", None),
        ("%%\n", None),
        ("%run a.ipynb", "from .a import *"),
        ("%run -i ../b/c.py --d", "from ..b.c import *"),
        ("%run 'a-b.ipynb'", "pass"),
        ("%run a", "from .a import *"),
        ("pip install a-b\n", "pass\n"),
        ("pip = install", "pip = install"),
        ("cd = 1\n", "cd = 1\n"),
    ],
)
def test_escapes(cell: str, python: str | None) -> None:
    assert python_of(cell) == python


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("line", ["# a", "", "   ", "'a", "%a \\", "f(\\", "x = !a"])
def test_long_cells_take_no_longer_a_row(line: str, newline: str) -> None:
    started = time.process_time()
    python_of(f"{line}{newline}" * 3000 + "?")
    assert time.process_time() - started < 2


# the JSON text


def variants() -> dict[str, str]:
    chain = ["y = (x\n", "  # \u00e9 \U0001f600\n", "  .relu()\n", "  .numpy())"]
    plain: dict[str, Any] = json.loads(notebook(chain, f"'\u00e9\U0001f600', {FLAGGED}"))
    strings = json.loads(json.dumps(plain))
    for cell in strings["cells"]:
        cell["source"] = "".join(cell["source"])
    return {
        "as Jupyter": json.dumps(plain, indent=1, ensure_ascii=False) + "\n",
        "escapes": json.dumps(plain, indent=1),
        "one line": json.dumps(plain, separators=(",", ":")),
        "tabs": json.dumps(plain, indent="\t", ensure_ascii=False),
        "strings": json.dumps(strings, indent=4),
        "other escapes": json.dumps(strings).replace(".numpy", "\\u002enumpy").replace("relu", "r\\u0065lu"),
        "keys the other way round": json.dumps(dict(reversed(plain.items()))),
        "carriage returns": json.dumps(plain, indent=1).replace("\n", "\r\n"),
    }


@pytest.mark.parametrize("name", variants())
def test_every_byte_but_those_of_the_repair_stays(name: str) -> None:
    document = variants()[name]
    fixed = fix_source(document.encode(), "a.ipynb", select=["TNP101"])
    chain = "y = (x\n  # \u00e9 \U0001f600\n  .relu()\n  .detach()\n  .cpu()\n  .numpy())"
    assert sources(fixed)[1:] == [chain, f"'\u00e9\U0001f600', {FIXED}"]
    kept = iter(fixed.decode())
    assert all(character in kept for character in document), "something of the old text is gone"
    pieces = json.loads(fixed)["cells"][1]["source"]
    assert isinstance(pieces, str) or pieces == chain.splitlines(keepends=True)


def test_a_byte_order_mark_stays() -> None:
    document = b"\xef\xbb\xbf" + notebook(FLAGGED).encode()
    assert fix_source(document, "a.ipynb") == document.replace(FLAGGED.encode(), FIXED.encode())


def test_a_link_on_a_row_of_its_own_goes_with_its_row() -> None:
    document = notebook(["import numpy\n", "y = (torch.zeros(2)\n", "  .clone()\n", "  .numpy()\n", "  .copy())"])
    fixed = fix_source(document, "a.ipynb", select=["TNP301"])
    assert fixed != document
    pieces = json.loads(fixed)["cells"][1]["source"]
    assert pieces == "".join(pieces).splitlines(keepends=True)


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("start", ["", "y = 1\n", "y = 1\n\n"])
def test_a_comment_on_the_last_row_of_a_cell_is_taken_out(start: str, end: str) -> None:
    """The newline behind it is none of the cell's."""
    document = notebook(f"{start}# noqa: TNP101{end}", "z = 1")
    fixed = fix_source(document, "a.ipynb", select=["TNP901"])
    assert sources(fixed)[1:] == [start, "z = 1"]
    assert fix_source(fixed, "a.ipynb", select=["TNP901"]) == fixed


def test_positions_go_there_and_back() -> None:
    """Each offset in a piece leads to the place in the JSON text from which the rest of the piece can be read."""
    document = variants()["other escapes"]
    for source in sources_in(document):
        for piece in source:
            for count in range(len(piece) + 1):
                rest = f'"{document[piece.offset(document, count) : piece.stop]}'
                assert json.loads(rest) == piece[count:]


def test_the_page_for_a_team_shows_the_cell(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(notebook(FLAGGED, ["y = 1\n", f"y = {FLAGGED}"]))
    page = run_tonumpy("check", "--output-format", "html").out
    data = json.loads(re.findall(r'<script[^>]* type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[0])
    shown = [(each["cell"], data["files"][each["file"]]["lines"], each["patch"]) for each in data["findings"]]
    assert shown == [
        (2, {"1": FLAGGED}, [1, [FLAGGED], [FIXED]]),
        (3, {"1": "y = 1", "2": f"y = {FLAGGED}"}, [2, [f"y = {FLAGGED}"], [f"y = {FIXED}"]]),
    ]


def test_why(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(notebook("y = 1", "\ndef score(labels):\n    return labels.cpu().numpy()"))
    done = run_tonumpy("why", "a.ipynb:cell 3:3")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("a.ipynb:cell 3:3:25: `labels.cpu()`\n")
    assert "    habit label-name, a.ipynb:cell 3:2: `labels` is named like a label" in done.out
    for place in ("a.ipynb:3", "a.ipynb:cell 9:1", "a.ipynb:cell 3:4", "a.ipynb:cell 2:1"):
        done = run_tonumpy("why", place)
        assert (done.code, done.err.startswith(f"tonumpy: error: {place}: ")) == (2, True)


def test_what_a_finding_rests_on_stands_in_its_cell() -> None:
    cells = [
        "def labels(loader):\n",
        "    for data, target in loader:\n",
        "        yield target.cpu().numpy(), model(data).numpy()",
    ]
    document = notebook("y = 1\n" * 20, "model = torch.nn.Linear(2, 2).cuda()", cells)
    grounds = [each for finding in check_source(document, "a.ipynb", confidence="low") for each in finding.evidence]
    assert grounds
    assert all(each.cell in (3, 4) and each.row <= 3 for each in grounds if each.row)


def test_rows_that_a_message_names_are_those_of_their_cells() -> None:
    cells = ["y = torch.zeros(2)\na = y.numpy()\n", "z = 1\na[0] = 1\n", "z = 2\nprint(y)\n"]
    (finding,) = check_source(notebook(*cells), "x.ipynb", select=["TNP202"])
    assert finding.message == (
        "`.numpy()` shares memory with the tensor: line 2 of cell 3 overwrites the array, then line 2 of cell 4 reads"
        " the changed tensor"
    )


def test_files_that_are_ignored_by_suffix(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """As ruff ignores its own rules there."""
    (tmp_path / "pyproject.toml").write_text(
        "".join(f'[tool.{tool}.per-file-ignores]\n"*.ipynb" = ["{code}"]\n' for tool, code in IGNORED.items())
    )
    (tmp_path / "a.ipynb").write_text(notebook(f"{FLAGGED}\nnowhere"))
    (tmp_path / "a.py").write_text(f"{''.join(TENSOR)}\n{FLAGGED}\nnowhere\n")
    assert {each["filename"] for each in json.loads(run_tonumpy("check", "--output-format=json").out)} == {
        str(tmp_path / "a.py")
    }
    for option in ("--per-file-ignores=*.ipynb:TNP1", "--per-file-ignores=!*.py:bare-numpy"):
        found = json.loads(run_tonumpy("check", "--isolated", option, "--output-format=json").out)
        assert [each["filename"] for each in found] == [str(tmp_path / "a.py")]
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
    if ruff is not None:
        command = [ruff, "check", "--no-cache", "--select", "F821", "--output-format", "json"]
        theirs = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout)
        assert [Path(each["filename"]).name for each in theirs] == ["a.py"]


IGNORED = {"tonumpy": "TNP101", "ruff.lint": "F821"}


def test_all_calls_of_a_function_are_in_sight() -> None:
    """Nobody imports a notebook."""
    cells = ["def f(y):\n    return y.detach().numpy()\n", "z = f(x)"]
    assert check_source(notebook(*cells), "a.ipynb") == []
    (finding,) = check_source(notebook(*cells, "z = f(x.cuda())"), "a.ipynb")
    assert (finding.code, finding.cell and finding.cell.number) == ("TNP103", 2)


def test_a_notebook_that_names_no_device_keeps_to_the_cpu(tmp_path: Path) -> None:
    """What it imports may be used on another, as long as it does not choose one."""
    (tmp_path / "parts.py").write_text("def made(x, cuda=False):\n    return x.cuda() if cuda else registry.get(x)\n")
    path = tmp_path / "a.ipynb"
    path.write_text(notebook("import gpytorch\nfrom parts import made", "made(x).detach().numpy()"))
    assert check_paths([path], isolated=True).findings == []
    chosen = "'cuda' if torch.cuda.is_available() else 'cpu'"
    (tmp_path / "parts.py").write_text(f"def made(x):\n    return x.to({chosen})\n")
    (finding,) = check_paths([path], isolated=True).findings
    assert finding.code == "TNP103"
