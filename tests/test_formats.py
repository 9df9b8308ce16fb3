"""Every output format, as its readers read it: by a reader's own code where there is one, and beside ruff's report."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from tonumpy.formats import format_names
from tonumpy.report import format_named
from tonumpy.rules import all_rules

if TYPE_CHECKING:
    from conftest import RunTonumpy

SOURCE = "import torch\n\n\ndef f(x: torch.Tensor, y):\n    größe = '日本🙂'; return größe, x.numpy()\n"
UNSAFE = "import torch\n\n\ndef f(x):\n    return x.numpy(), x.numpy(), torch\n"
BROKEN = "import torch\ndef (:\n    x.numpy()\n"

MACHINES = ["azure", "github", "gitlab", "html", "json", "json-lines", "junit", "pylint", "rdjson", "sarif"]
PEOPLE = ["concise", "full", "grouped"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.py").write_text(SOURCE, "utf-8")
    (tmp_path / "a&<b>.py").write_text(UNSAFE)
    (tmp_path / "c.py").write_text(BROKEN)
    return tmp_path


def ruff(folder: Path, form: str) -> str:
    """What ruff reports of a file of its own, and of one that nobody can parse."""
    (folder / "ruff").mkdir()
    (folder / "ruff" / "a.py").write_text("import os\n")
    (folder / "ruff" / "c.py").write_text(BROKEN)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", f"--output-format={form}", "ruff"]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8").stdout


def shape(value: object) -> object:
    """The keys and the types of the values."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in sorted(value.items())}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


def test_there_are_these_formats(run_tonumpy: RunTonumpy) -> None:
    assert format_names() == sorted(MACHINES + PEOPLE)
    helped = re.sub(r"-\s+", "-", run_tonumpy("check", "--help").out)
    assert all(re.search(rf"\b{name}\b", helped) for name in format_names())
    refused = run_tonumpy("check", "--output-format", "xml").err
    assert f"unknown format `xml`; known are {', '.join(format_names())}" in refused
    assert [name for name in format_names() if getattr(format_named(name), "FOR_PEOPLE", False)] == PEOPLE


@pytest.mark.parametrize("form", sorted(MACHINES + PEOPLE))
@pytest.mark.usefixtures("folder")
def test_no_format_changes_the_exit_code_nor_loses_an_error(run_tonumpy: RunTonumpy, form: str) -> None:
    result = run_tonumpy("check", "--output-format", form)
    running = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    assert (result.code, result.err) == (2, f"c.py:2:5: error: cannot be parsed: invalid syntax ({running})\n")
    assert result.out.count("or on a GPU" if form == "concise" else "or be on a GPU") >= 1
    assert ("Found 3 findings" in result.out) is (form in (*PEOPLE, "html"))
    assert run_tonumpy("check", "b.py", "--output-format", form).code == 1


@pytest.mark.parametrize("form", MACHINES)
def test_a_format_for_machines_of_nothing(run_tonumpy: RunTonumpy, tmp_path: Path, form: str) -> None:
    (tmp_path / "clean.py").write_text("import torch\n\ntorch.zeros(3).numpy()\n")
    result = run_tonumpy("check", "--output-format", form)
    assert (result.code, result.err) == (0, "")
    if form == "junit":
        assert "No findings" in result.out
    elif form == "html":
        assert "</html>" in result.out
    elif form in ("sarif", "rdjson"):
        assert json.loads(result.out)
    else:
        assert result.out in ("", "[]\n")


def test_gitlab(run_tonumpy: RunTonumpy, folder: Path) -> None:
    theirs = json.loads(ruff(folder, "gitlab"))
    (folder / "ci").mkdir()
    result = run_tonumpy("check", "b.py", "a&<b>.py", "c.py", "--output-format=gitlab")
    ours = json.loads(result.out)
    assert {json.dumps(shape(each), default=str) for each in ours} == {json.dumps(shape(theirs[0]), default=str)}
    assert [each["location"]["path"] for each in ours] == ["a&<b>.py", "a&<b>.py", "b.py", "c.py"]
    assert ours[2]["location"]["positions"] == {"begin": {"line": 5, "column": 36}, "end": {"line": 5, "column": 43}}
    assert {each["severity"] for each in ours} <= {"info", "minor", "major", "critical", "blocker"}
    prints = [each["fingerprint"] for each in ours]
    assert len(set(prints)) == len(prints)
    # Lines above must not make an old issue a new one, nor the folder in which a runner has put the project.
    (folder / "b.py").write_text("# a line\n" + SOURCE, "utf-8")
    moved = json.loads(run_tonumpy("check", "--output-format=gitlab", CI_PROJECT_DIR=str(folder.parent)).out)
    assert moved[2]["location"]["path"] == f"{folder.name}/b.py"
    assert json.loads(run_tonumpy("check", "b.py", "--output-format=gitlab").out)[0]["fingerprint"] == prints[2]


def test_gitlab_knows_an_issue_by_its_line_whatever_rows_the_message_names(
    run_tonumpy: RunTonumpy, tmp_path: Path
) -> None:
    body = "def f(x: torch.Tensor):\n    a = x.detach().cpu().numpy()\n    x.zero_()\n    return a\n"

    def fingerprint(text: str) -> str:
        (tmp_path / "a.py").write_text(text)
        (issue,) = json.loads(run_tonumpy("check", "--output-format=gitlab").out)
        assert "TNP201" in issue["description"]
        return str(issue["fingerprint"])

    assert fingerprint(f"import torch\n\n\n{body}") == fingerprint(f"import torch\n\n\n\n\n{body}")


def test_junit(run_tonumpy: RunTonumpy, folder: Path) -> None:
    junitparser = pytest.importorskip("junitparser")
    (folder / "d.py").write_bytes(SOURCE.replace("日本", "\\x1b").encode())
    path = folder / "report.xml"
    run_tonumpy("check", "--output-format=junit", "--output-file", str(path))
    report = junitparser.JUnitXml.fromfile(str(path))
    assert (report.tests, report.failures, report.errors, report.skipped) == (5, 4, 1, 0)
    suites = list(report)
    assert [suite.name for suite in suites] == [str(folder / name) for name in ("a&<b>.py", "b.py", "c.py", "d.py")]
    for suite in suites:
        cases = list(suite)
        assert (suite.tests, suite.failures, suite.errors) == (
            len(cases),
            sum(isinstance(case.result[0], junitparser.Failure) for case in cases),
            sum(isinstance(case.result[0], junitparser.Error) for case in cases),
        )
    (case,) = suites[1]
    assert (case.name, case.classname) == ("org.tonumpy.TNP101", str(folder / "b"))
    assert case.result[0].message.startswith("`.numpy()` on a tensor that may require grad or be")
    assert case.result[0].text.startswith("line 5, col 36, `.numpy()`")
    theirs = ElementTree.fromstring(ruff(folder, "junit"))
    (ours,) = ElementTree.parse(path).getroot().findall("./testsuite[2]")
    for where in (".", "./testcase", "./testcase/failure"):
        one, other = theirs.find(f"./testsuite[1]/{where}"), ours.find(where)
        assert one is not None
        assert other is not None
        assert set(one.attrib) == set(other.attrib)


def test_azure(run_tonumpy: RunTonumpy, folder: Path) -> None:
    """A line is read as an Azure agent does it: properties up to the first bracket, apart at semicolons."""
    command = re.compile(r"^##vso\[task\.logissue (?P<properties>[^]]*)\](?P<message>.*)$", re.MULTILINE)

    def read(text: str) -> list[dict[str, str]]:
        found = []
        for match in command.finditer(text):
            pairs = [part.partition("=") for part in match["properties"].split(";") if part]
            found.append({"message": match["message"]} | {key: value for key, _, value in pairs})
        return found

    theirs = read(ruff(folder, "azure"))
    (folder / "o;d]d.py").write_text(SOURCE, "utf-8")
    ours = read(run_tonumpy("check", "--output-format=azure", "b.py", "c.py", "o;d]d.py").out)
    assert {tuple(sorted(each)) for each in ours} == {tuple(sorted(theirs[0]))}
    assert ours[0] == {
        "type": "warning",
        "sourcepath": str(folder / "b.py"),
        "linenumber": "5",
        "columnnumber": "36",
        "code": "TNP101",
        "message": "`.numpy()` on a tensor that may require grad or be on a GPU: can raise RuntimeError or TypeError",
    }
    assert ours[1]["code"] == theirs[-1]["code"] == "invalid-syntax"
    assert ours[2]["sourcepath"] == f"{folder}/o%3Bd%5Dd.py"


def test_rdjson(run_tonumpy: RunTonumpy, folder: Path) -> None:
    theirs = json.loads(ruff(folder, "rdjson"))
    ours = json.loads(run_tonumpy("check", "--output-format=rdjson").out)
    assert set(ours) == set(theirs)
    assert ours["source"]["name"] == "tonumpy"
    more = {"severity": str}  # ruff has one for all
    assert shape(ours["diagnostics"][2]) == shape(theirs["diagnostics"][0]) | more
    assert shape(ours["diagnostics"][-1]) == shape(theirs["diagnostics"][-1]) | more
    # Applied as its readers do it, to lines of UTF-8, a suggestion is the repair.
    lines = SOURCE.encode().split(b"\n")
    (suggestion,) = ours["diagnostics"][2]["suggestions"]
    start, end = suggestion["range"]["start"], suggestion["range"]["end"]
    row = lines[start["line"] - 1]
    assert start["line"] == end["line"]
    repaired = row[: start["column"] - 1] + suggestion["text"].encode() + row[end["column"] - 1 :]
    assert repaired == row.replace(b"x.numpy()", b"x.detach().cpu().numpy()")
    span = ours["diagnostics"][2]["location"]["range"]
    assert row[span["start"]["column"] - 1 : span["end"]["column"] - 1] == b"numpy()"


def test_pylint_is_what_flake8_prints_as_pylint(run_tonumpy: RunTonumpy, folder: Path) -> None:
    command = [sys.executable, "-m", "flake8", "--select=TNP", "--format=pylint", "b.py", "a&<b>.py"]
    theirs = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8").stdout
    ours = run_tonumpy("check", "--output-format=pylint", "b.py", "a&<b>.py").out
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
    assert "a&<b>.py:5: [TNP101] " in ours


def test_json_lines_are_the_entries_of_json(run_tonumpy: RunTonumpy, folder: Path) -> None:
    lines = run_tonumpy("check", "--output-format=json-lines").out.splitlines()
    assert [json.loads(line) for line in lines] == json.loads(run_tonumpy("check", "--output-format=json").out)
    more = {"confidence": str, "evidence": []}  # which ruff has not
    assert shape(json.loads(ruff(folder, "json-lines").splitlines()[0])) | more == shape(json.loads(lines[2]))


@pytest.mark.usefixtures("folder")
def test_grouped(run_tonumpy: RunTonumpy) -> None:
    assert run_tonumpy("check", "-q", "--output-format=grouped", "b.py", "a&<b>.py").out == (
        "a&<b>.py:\n"
        "  5:14 TNP101 `.numpy()` on a possible tensor (type unknown); it may require grad or be on a GPU:"
        " can raise RuntimeError or TypeError"
        " (unsafe fix: Add `.detach().cpu()`)\n"
        "  5:25 TNP101 `.numpy()` on a possible tensor (type unknown); it may require grad or be on a GPU:"
        " can raise RuntimeError or TypeError"
        " (unsafe fix: Add `.detach().cpu()`)\n"
        "\n"
        "b.py:\n"
        "  5:36 TNP101 [*] `.numpy()` on a tensor that may require grad or be on a GPU:"
        " can raise RuntimeError or TypeError (fix: Add `.detach().cpu()`)\n"
        "\n"
    )
    assert "\033[" in run_tonumpy("check", "-q", "--output-format=grouped", "--color=always").out


def test_sarif(run_tonumpy: RunTonumpy, folder: Path) -> None:
    sarif_pydantic = pytest.importorskip("sarif_pydantic")
    text = run_tonumpy("check", "--output-format=sarif").out
    (run,) = sarif_pydantic.Sarif.model_validate_json(text).runs
    assert [result.rule_id for result in run.results] == ["TNP101", "TNP101", "TNP101"]
    assert run.results[2].locations[0].physical_location.artifact_location.uri == (folder / "b.py").as_uri()
    (plain,) = json.loads(text)["runs"]
    pages = {rule.code: rule.page for rule in all_rules()}
    for rule in plain["tool"]["driver"]["rules"]:  # what GitHub shows of a rule (the multitool's GH2012)
        assert rule["help"] == {"text": pages[rule["id"]], "markdown": pages[rule["id"]]}
        assert {"id", "name", "shortDescription", "fullDescription", "helpUri"} <= set(rule)
    (ours,) = json.loads(run_tonumpy("check", "b.py", "--output-format=sarif").out)["runs"]
    (theirs,) = json.loads(ruff(folder, "sarif"))["runs"]
    assert _keys(theirs["results"][0]) <= _keys(ours["results"][0]) | {"fixes.artifactChanges.artifactLocation.uri"}


def _keys(value: object, path: str = "") -> set[str]:
    if isinstance(value, dict):
        return {each for key, item in value.items() for each in _keys(item, f"{path}.{key}".lstrip("."))}
    return {each for item in value for each in _keys(item, path)} if isinstance(value, list) else {path}


def test_concise_lines_are_short(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """Each has at most 120 characters with a path of up to 60, whatever its path; other formats say all."""
    folder = tmp_path / ("f" * 28)
    folder.mkdir()
    for code in ("TNP101", "TNP104", "TNP108", "TNP201", "TNP206"):
        for path in sorted((Path(__file__).parents[1] / "fixtures" / code).glob("*.py"))[:12]:
            shutil.copy(path, folder / f"{code}_{path.name}")
    arguments = ("check", "--quiet", "--select", "ALL", "--confidence", "low", "--exit-zero", ".")
    lines = run_tonumpy(*arguments).out.splitlines()
    told = json.loads(run_tonumpy(*arguments, "--output-format", "json").out)
    assert len(lines) == len(told) > 100
    for line, each in zip(lines, told, strict=True):
        path, _, rest = line.partition(":")
        assert len(line) <= max(120, 60 + len(path)), line
        assert len(rest.split(" ", 2)[2]) > 20, line
        assert each["code"] in line and "\u2026" not in each["message"]
    assert sum(len(line.partition(":")[0]) > 50 for line in lines) > 20
    assert max(len(each["message"]) for each in told) > 150
