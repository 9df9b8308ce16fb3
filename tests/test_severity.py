"""How loud each format for machines, and each server, is about a finding follows from its confidence."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from test_server import editor, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import RunTonumpy

# A finding of each confidence, in this order, and the second of an unsafe fix.
SOURCE = """\
import torch


def sure(x: torch.Tensor):
    return x.cuda().numpy()


def unsure(x):
    return x.numpy()


def believed(labels: torch.Tensor):
    return labels.cpu().numpy()


def printed(x: torch.Tensor):
    return f"{x.numpy()=}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(SOURCE)
    return tmp_path


@pytest.fixture
def report(folder: Path, run_tonumpy: RunTonumpy) -> Callable[[str], str]:
    (folder / "broken.py").write_text("def (:\n    x.numpy()\n")

    def of(form: str) -> str:
        return run_tonumpy("check", "--confidence=low", "--output-format", form).out

    found = [json.loads(line) for line in of("json-lines").splitlines()]
    assert [each.get("confidence") for each in found] == ["high", "medium", "low", "medium", None]
    return of


def test_github(report: Callable[[str], str]) -> None:
    commands = re.findall(r"^::(\w+) title", report("github"), re.MULTILINE)
    assert commands == ["error", "warning", "notice", "warning", "error"]


def test_sarif(report: Callable[[str], str]) -> None:
    (of_run,) = json.loads(report("sarif"))["runs"]
    assert [each["level"] for each in of_run["results"]] == ["error", "warning", "note", "warning"]
    told = [
        [(fix["description"]["text"], fix["properties"]["applicability"]) for fix in each.get("fixes", ())]
        for each in of_run["results"]
    ]
    assert told == [
        [("Add `.detach().cpu()`", "safe")],
        [("Unsafe: Add `.detach().cpu()`", "unsafe")],
        [("Add `.detach()`", "safe")],
        [],  # of what is only shown a reader would make an edit
    ]


def test_rdjson(report: Callable[[str], str]) -> None:
    found = json.loads(report("rdjson"))["diagnostics"]
    assert [each["severity"] for each in found] == ["ERROR", "WARNING", "INFO", "WARNING", "ERROR"]
    assert [" (unsafe fix: Add `.detach().cpu()`)" in each["message"] for each in found] == [False, True, *3 * [False]]
    assert ["suggestions" in each for each in found] == [True, True, True, False, False]


def test_gitlab(report: Callable[[str], str]) -> None:
    found = json.loads(report("gitlab"))
    assert [each["severity"] for each in found] == ["major", "minor", "info", "minor", "major"]


def test_azure(report: Callable[[str], str]) -> None:
    kinds = re.findall(r"logissue type=(\w+);", report("azure"))
    assert kinds == ["error", "warning", "warning", "warning", "error"]


def test_json_is_that_of_ruff(report: Callable[[str], str]) -> None:
    assert {each["severity"] for each in json.loads(report("json"))} == {"error"}


@pytest.mark.slow
def test_the_server(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.tonumpy]\nconfidence = 'low'\n")

    async def talk() -> None:
        async with editor(folder) as window:
            uri = window.opened(folder / "a.py", SOURCE)
            places = [("TNP101", 4, 20, 27), ("TNP101", 8, 13, 20), ("TNP102", 12, 24, 31), ("TNP101", 16, 16, 23)]
            await window.until(*places, uri=uri)
            assert [each.severity for each in window.diagnostics[uri].diagnostics] == [1, 2, 3, 2]

    run(talk())
