"""scripts/tests_of_edits.py on a small repository, as a user starts it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pytest_cov")

SCRIPT = Path(__file__).parents[1] / "scripts" / "tests_of_edits.py"
MODULE = """\
import torch


def first(x: torch.Tensor):
    return x.numpy()


def second(x: torch.Tensor):
    return x.numpy()


def nobody(x: torch.Tensor):
    return x.numpy()


def untouched(x):
    return x
"""
# torch is a stub: what is tested is which tests are run, and what is said of their outcomes.
TORCH = """\
class Tensor:
    def numpy(self):
        return [1]

    def detach(self):
        return self

    cpu = detach
"""
TESTS = """\
import inspect

import pytest
import torch

from package import convert

IS_OLD = "detach" not in inspect.getsource(convert)


def test_first():
    assert convert.first(torch.Tensor()) == [1]


class TestSecond:
    @pytest.mark.parametrize("name", ["a::b", *(["old"] if IS_OLD else [])])
    def test(self, name):
        assert convert.second(torch.Tensor()) == [1]


def test_changed():
    assert convert.first(torch.Tensor()) and IS_OLD


@pytest.mark.skipif(not IS_OLD, reason="new")
def test_skipped():
    assert convert.first(torch.Tensor())


def test_other():
    assert convert.untouched(1) == 1
"""


def compare(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, text in (
        ("package/__init__.py", ""),
        ("package/convert.py", MODULE),
        ("torch.py", TORCH),
        ("tests/test_convert.py", TESTS),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_tests_of_edited_lines_are_run_before_and_after(repository: Path) -> None:
    done = compare(repository)
    assert done.stdout == (
        "3 edited lines in 1 files, 2 of them executed by 5 tests\n"
        "3 executed, 1 skipped, 1 missing\n"
        "  tests/test_convert.py::TestSecond::test[old]: passed -> missing\n"
        "  tests/test_convert.py::test_changed: passed -> failed\n"
        "  tests/test_convert.py::test_skipped: passed -> skipped\n"
    ), done.stderr
    assert done.returncode == 1
    assert (repository / "package" / "convert.py").read_text() == MODULE


def test_nothing_changed(repository: Path) -> None:
    done = compare(repository, "--fix-option=--isolated", "--", "-k", "first or other or a::b")
    assert done.stdout == (
        "3 edited lines in 1 files, 2 of them executed by 2 tests\n2 executed, 0 skipped, 0 missing\n"
    ), done.stderr
    assert done.returncode == 0


def test_no_test_executes_an_edited_line(repository: Path) -> None:
    done = compare(repository, "--", "-k", "other")
    assert done.stdout == (
        "3 edited lines in 1 files, 0 of them executed by 0 tests\n0 executed, 0 skipped, 0 missing\n"
    ), done.stderr
    assert done.returncode == 0


def test_tests_that_cannot_be_run(repository: Path) -> None:
    done = compare(repository, "--", "--no-such-option")
    assert (done.returncode, done.stdout) == (1, "")
    assert "pytest did not run to its end" in done.stderr


def test_files_that_cannot_be_collected_are_counted(repository: Path) -> None:
    (repository / "tests" / "test_broken.py").write_text("import no_such_module\n")
    done = compare(repository, "--", "-k", "other")
    assert "\n1 files of tests cannot be collected\n0 executed" in done.stdout, done.stderr
