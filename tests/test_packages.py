"""Modules that are run, in a package and by themselves: who else may call what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tonumpy import check_source
from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.pipeline import check
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from pathlib import Path

DEMONSTRATED = b"""
import torch


class Evaluator:
    def evaluate(self, scores):
        return self._ranked(scores)

    def _ranked(self, logits):
        return logits.cpu().numpy()


def shown(scores):
    return scores.cpu().numpy()


if __name__ == "__main__":
    Evaluator().evaluate(torch.zeros(3))
    shown(torch.zeros(3))
"""


def test_one_file_has_no_more_than_so_much_text_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run has read before makes no difference, and the next file begins anew."""
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text(f"import torch\n\n{name} = torch.zeros(3)\n")
    both = tmp_path / "both.py"
    imports = "import torch\nfrom first import first\nfrom second import second\n"
    both.write_text(f"{imports}\nfirst.cpu().numpy(), second.cpu().numpy()\n")

    def columns(project: Project) -> list[int]:
        found = check(Source(both.read_bytes(), str(both)), Settings(), project)
        return [finding.start.column for finding in found]

    project = Project()
    assert columns(project) == []
    monkeypatch.setattr("tonumpy.engine.names.follow_budget.MAX_FOLLOWED", 10)
    assert columns(project) == columns(project) == columns(Project()) == [35]


@pytest.mark.parametrize(("neighbour", "rows"), [("import torch", [2]), ("import paddle", []), ("import os", [2])])
def test_a_module_without_a_framework_speaks_its_neighbours_words(
    tmp_path: Path, neighbour: str, rows: list[int]
) -> None:
    (tmp_path / "layers.py").write_text(f"{neighbour}\n")
    found = check_source(b"def picture(image):\n    return image.detach().numpy()\n", str(tmp_path / "pictures.py"))
    assert [finding.start.row for finding in found] == rows


def test_a_folder_that_cannot_be_read_has_no_neighbours(tmp_path: Path) -> None:
    text = b"def picture(image):\n    return image.detach().numpy()\n"
    assert len(check_source(text, str(tmp_path / "nowhere" / "pictures.py"))) == 1


@pytest.mark.parametrize("is_package", [True, False])
def test_a_folder_of_tests_does_not_stand_before_the_package_it_is_named_after(
    tmp_path: Path, is_package: bool
) -> None:
    """`tests/agents` is `tests.agents` where `tests` is a package, and has not got what only `src/agents` has."""
    package, tests = tmp_path / "src" / "agents", tmp_path / "tests" / "agents"
    for folder in (package, tests):
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    if is_package:
        (tmp_path / "tests" / "__init__.py").touch()
        (tests / "moves.py").touch()
    (package / "moves.py").write_text("def moved(x):\n    return x.detach().cpu()\n")
    test = tests / "test_moves.py"
    test.write_text(
        "import torch\nfrom agents.moves import moved\n\n\n"
        "def test_moved(model):\n    moved(model(torch.zeros(3))).numpy()\n"
    )
    assert check(Source(test.read_bytes(), str(test)), Settings(), Project()) == []


FOR_ALL = "@pytest.fixture(autouse=True)\ndef for_all():\n"
MADE_BY_THE_CODE_UNDER_TEST = """import torch
from made import made


def test_made(registry):
    made(registry, "a").detach().numpy()


def test_made_beside(registry, home):
    made(registry, home).detach().numpy()
"""


@pytest.mark.parametrize(
    ("conftest", "rows"),
    [
        ("def pytest_addoption(parser):\n    parser.addoption('--gpu')\n", []),
        (f"{FOR_ALL}    torch.cuda.set_device(0)\n", [6, 10]),
        (f"def pytest_configure():\n    torch.set_default_device('cuda')\n\n\n{FOR_ALL}    yield\n", [6, 10]),
    ],
)
def test_a_test_may_run_where_the_parts_of_conftest_that_are_run_for_it_say(
    tmp_path: Path, conftest: str, rows: list[int]
) -> None:
    (tmp_path / "made.py").write_text("def made(registry, name):\n    return registry[name]\n")
    (tmp_path / "homes.py").write_text("import torch\n\nhome = 'cuda' if torch.cuda.is_available() else 'cpu'\n")
    (tmp_path / "conftest.py").write_text(f"import pytest\nimport torch\n\n\n{conftest}")
    test = tmp_path / "test_made.py"
    test.write_text(MADE_BY_THE_CODE_UNDER_TEST)
    assert [found.start.row for found in check_source(test.read_text(), str(test))] == rows


APPLICATION = b"""
import torch


class Application:
    def main(self):
        self.log(self.trained())

    def trained(self):
        return torch.zeros(3)

    def log(self, metrics):
        print(metrics.numpy())

    def show(self, metrics):
        print(metrics.numpy())


if __name__ == "__main__":
    application = Application()
    application.main()
    application.show(torch.zeros(3))
"""


UNGUARDED = b"""
import argparse

import torch


def show(metrics):
    print(metrics.numpy())


def main():
    with torch.no_grad():
        show(torch.zeros(3, requires_grad=True))


"""


@pytest.mark.parametrize("done", [b"main()", b"args = argparse.ArgumentParser().parse_args()"])
@pytest.mark.parametrize(("is_package", "rows"), [(False, []), (True, [8])])
def test_what_a_package_does_when_it_is_imported_is_no_program(
    tmp_path: Path, done: bytes, is_package: bool, rows: list[int]
) -> None:
    if is_package:
        (tmp_path / "__init__.py").touch()
    found = check_source(UNGUARDED + done, str(tmp_path / "registered.py"))
    assert [finding.start.row for finding in found] == rows


def test_a_folder_of_folders_is_a_package_where_a_dotted_name_leads_to_a_module(tmp_path: Path) -> None:
    """`src` may hold no Python itself, and the folder of a library's name, as `datasets`, may hold data."""
    for folder in ("src/models", "datasets/raw"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "src/models/masks.py").write_text("import torch\n\n\ndef mask():\n    return torch.zeros(3)\n")
    imports = "import torch\nfrom src.models.masks import mask\nfrom datasets.raw import other\n"
    found = check_source(f"{imports}\nmask().numpy(), other().numpy()\n".encode(), str(tmp_path / "run.py"))
    assert [finding.start.column for finding in found] == [25]
