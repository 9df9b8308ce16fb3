"""The plugin through real flake8: what is on, what turns the rest on, and where a report stands."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from tonumpy.integrations.flake8_plugin import Plugin

FLAGGED = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
PROVED = "import torch\n\ntorch.zeros(3).numpy()\n"


def flake8(folder: Path, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flake8", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, input=stdin, encoding="utf-8")


def codes(run: subprocess.CompletedProcess[str]) -> list[str]:
    assert run.stderr == ""
    return [line.split()[1] for line in run.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "flagged.py").write_text(FLAGGED)
    (tmp_path / "proved.py").write_text(PROVED)
    return tmp_path


def test_on_by_default_beside_the_other_checks(folder: Path) -> None:
    (folder / "flagged.py").write_text("import os\n" + FLAGGED)
    run = flake8(folder)
    assert run.returncode == 1
    assert codes(run) == ["F401", "TNP101"]


def test_place_and_message(folder: Path) -> None:
    run = flake8(folder, "flagged.py")
    assert run.stdout.startswith("flagged.py:5:14: TNP101 `.numpy()` on a tensor that may require grad or be on")
    assert len(run.stdout.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["--select=TNP"], ["--select=TNP1"], ["--extend-select=TNP1"], ["--ignore=E,W"]])
def test_strict_needs_to_be_asked_for(folder: Path, arguments: list[str]) -> None:
    assert codes(flake8(folder, *arguments)) == ["TNP101"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--tonumpy-strict"],
        ["--tonumpy-strict", "--select=TNP"],
        ["--tonumpy-strict", "--ignore=E,W"],
        ["--extend-select=TNP300"],
        ["--extend-select=TNP3"],
        ["--select=TNP,TNP300"],
    ],
)
def test_ways_to_ask_for_strict(folder: Path, arguments: list[str]) -> None:
    assert codes(flake8(folder, *arguments)) == ["TNP101", "TNP300"]


def test_only_strict(folder: Path) -> None:
    """What another code would speak of is left to none."""
    assert codes(flake8(folder, "--select=TNP300")) == ["TNP300", "TNP300"]


def test_strict_that_is_ignored(folder: Path) -> None:
    assert codes(flake8(folder, "--tonumpy-strict", "--extend-ignore=TNP3")) == ["TNP101"]


@pytest.mark.parametrize("name", [".flake8", "setup.cfg", "tox.ini"])
def test_strict_in_the_configuration_of_flake8(folder: Path, name: str) -> None:
    (folder / name).write_text("[flake8]\ntonumpy-strict = true\n")
    assert codes(flake8(folder)) == ["TNP101", "TNP300"]


def test_strict_in_pyproject(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.tonumpy]\nstrict = true\n")
    assert codes(flake8(folder)) == ["TNP101", "TNP300"]


LOW = "import torch\n\n\ndef f(labels: torch.Tensor):\n    return labels.cpu().numpy(), torch\n"
OWN = "import mylib\nimport torch\n\n\ndef f(p):\n    return torch.stack(mylib.load(p)).numpy()\n"


@pytest.mark.parametrize(
    ("table", "text", "found"),
    [
        ("", FLAGGED, ["TNP101"]),
        ("strict = true", PROVED, ["TNP300"]),
        ('confidence = "high"', FLAGGED, []),
        ('confidence = "low"', LOW, ["TNP102"]),
        ('disable-habits = ["label-name"]', LOW, ["TNP102"]),
        ("", OWN, ["TNP101"]),
        (
            '[[tool.tonumpy.promises]]\nfunction = "mylib.load"\nreturns = "sequence"\ndevice = "cpu"\ngrad = false',
            OWN,
            [],
        ),
        ('ignore = ["TNP101"]', FLAGGED, ["TNP101"]),
        ('select = ["TNP300"]', FLAGGED, ["TNP101"]),
        ('extend-select = ["TNP300"]', PROVED, []),
        ('exclude = ["flagged.py"]', FLAGGED, ["TNP101"]),
        ('per-file-ignores = { "flagged.py" = ["TNP101"] }', FLAGGED, ["TNP101"]),
    ],
)
def test_what_counts_of_the_table(tmp_path: Path, table: str, text: str, found: list[str]) -> None:
    """As docs/flake8.md has it."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.tonumpy]\n{table}\n")
    (tmp_path / "flagged.py").write_text(text)
    assert codes(flake8(tmp_path)) == found


def test_the_option_counts_over_the_table(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.tonumpy]\nconfidence = "high"\n')
    assert codes(flake8(folder, "--tonumpy-confidence", "medium")) == ["TNP101"]


def test_a_wrong_pyproject_ends_the_run_with_its_name(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.tonumpy]\nstrikt = true\n")
    run = flake8(folder)
    assert run.returncode == 1
    assert "pyproject.toml" in run.stdout
    assert "strikt" in run.stdout
    assert "Traceback" not in run.stdout + run.stderr


def test_noqa_belongs_to_flake8(folder: Path) -> None:
    (folder / "flagged.py").write_text(FLAGGED.replace("numpy()", "numpy()  # noqa: TNP101"))
    assert codes(flake8(folder, "flagged.py")) == []
    assert codes(flake8(folder, "--disable-noqa", "flagged.py")) == ["TNP101"]


def test_per_file_ignores(folder: Path) -> None:
    assert codes(flake8(folder, "--per-file-ignores=flagged.py:TNP1")) == []


def test_standard_input(folder: Path) -> None:
    assert flake8(folder, "-", stdin=FLAGGED).stdout.startswith("stdin:5:14: TNP101 ")
    named = flake8(folder, "--stdin-display-name=package/module.py", "-", stdin=FLAGGED)
    assert named.stdout.startswith("package/module.py:5:14: TNP101 ")


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\f\n"], ids=["CRLF", "CR", "form feed"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "BOM"])
def test_places_whatever_the_newlines(tmp_path: Path, newline: str, mark: str) -> None:
    text = mark + FLAGGED.replace("return", "größe = '日本'; return").replace("\n", newline)
    (tmp_path / "flagged.py").write_bytes(text.encode())
    assert flake8(tmp_path, "--select=TNP").stdout.startswith("./flagged.py:5:28: TNP101 ")


def test_declared_encoding(tmp_path: Path) -> None:
    text = "# coding: latin-1\n" + FLAGGED.replace("return", "größe = 1; return")
    (tmp_path / "flagged.py").write_bytes(text.encode("latin-1"))
    assert flake8(tmp_path, "--select=TNP").stdout.startswith("./flagged.py:6:25: TNP101 ")


def test_several_processes_report_the_same(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"module_{number}.py").write_text(FLAGGED if number % 2 else PROVED)
    one, four = (flake8(tmp_path, "--tonumpy-strict", "--jobs", jobs) for jobs in ("1", "4"))
    assert sorted(codes(one)) == ["TNP101"] * 6 + ["TNP300"] * 6
    assert one.stdout == four.stdout


def test_named_in_the_version(tmp_path: Path) -> None:
    assert "tonumpy: " in flake8(tmp_path, "--version").stdout


def test_a_file_that_cannot_be_analysed_is_a_report_of_that_file() -> None:
    """flake8 ends its whole run at an exception of a plugin. Only a defect can cause one, so it is planted here."""
    of_codes = dict.fromkeys(("select", "extend_select", "ignore", "extend_ignore", "per_file_ignores"))
    defaults = {"extended_default_select": ["TNP"], "extended_default_ignore": [], "per_file_ignores": ""}
    own = {"tonumpy_strict": False, "tonumpy_preview": False, "tonumpy_confidence": None, "tonumpy_links": None}
    Plugin.parse_options(Namespace(**own, **of_codes | defaults))
    broken = Plugin(tree="not a tree", filename="broken.py", lines=["import torch\n", "x.numpy()\n"])  # type: ignore[arg-type]
    assert [(row, column, text.split()[0]) for row, column, text, _ in broken.run()] == [(1, 0, "TNP900")]


def test_files_without_candidates_import_nothing(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("import torch\n\ntorch.zeros(3).sum()\n")
    script = "import sys, flake8.main.cli as cli; cli.main(['-j1', '.']); print(*sorted(sys.modules), sep='\\n')"
    command = [sys.executable, "-c", script]
    imported = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path).stdout.split()
    ours = {name.partition(".")[2] for name in imported if name.startswith("tonumpy")}
    packages = {"", "boundary", "integrations", "text"}
    modules = {
        "boundary.paths",
        "config",
        "findings",
        "formats",
        "integrations.flake8_plugin",
        "globs",
        "setting_values",
        "suggestions",
        "text.prefilter",
        "text.reading",
    }
    assert ours == packages | modules
