"""Habits lower findings to low confidence, each by its own name, and the table's rows are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import RunTonumpy

from tonumpy import check_source
from tonumpy.engine.knowledge.habits import HABITS

_HEAD = "import torch\n\n\n"
EXAMPLES = {
    "callers-in-module": (
        "def show(x: torch.Tensor):\n    return x.cpu().numpy()\n\n\ndef f(x):\n    show(x.detach())\n"
    ),
    "collate-function": "def collate_rows(rows):\n    return rows.numpy()\n",
    "company-of-data": "def shifted(offset: torch.Tensor):\n    return (torch.rand(3) + offset).numpy()\n",
    "content-of-dataset": (
        "class Rows(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n        return self.rows[i].numpy()\n"
    ),
    "dataset-name": "def f(dataset):\n    return dataset.images.cpu().numpy()\n",
    "index-name": "def f(x: torch.Tensor, index):\n    return index.cpu().numpy()\n",
    "label-name": "def f(labels: torch.Tensor):\n    return labels.cpu().numpy()\n",
    "loader-name": "def f(train_loader):\n    for x in train_loader:\n        x.numpy()\n",
    "part-of-batch": "def f(batch):\n    return batch.image.cpu().numpy()\n",
    "sample-parameter": (
        "class Rows(torch.utils.data.Dataset):\n    def show(self, sample):\n        return sample.numpy()\n"
    ),
}


@pytest.mark.parametrize(("habit", "code"), EXAMPLES.items())
def test_what_rests_on_a_habit_is_of_low_confidence(habit: str, code: str) -> None:
    assert check_source(_HEAD + code, "m.py") == []
    found = check_source(_HEAD + code, "m.py", confidence="low")
    assert {finding.confidence for finding in found} == {"low"}
    assert habit in {ground.id for finding in found for ground in finding.evidence}
    others = {"content-of-dataset"} if habit == "sample-parameter" else set()
    assert check_source(_HEAD + code, "m.py", disable_habits=(habit, *others)) != []


def test_the_table_is_small_and_in_order() -> None:
    ids = [habit.id for habit in HABITS]
    assert ids == sorted(ids)
    assert len(ids) <= 15


def _ran(source: str, *outputs: dict[str, object]) -> dict[str, object]:
    return {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": outputs, "source": source}


def _notebook(*cells: dict[str, object]) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


_IMPORTS = "import torch\nfrom curves import points\n"
_SHOWN = "def show(x):\n    return x.cpu().numpy()\n"
_ERROR = {"output_type": "error", "ename": "RuntimeError", "evalue": "Can't call numpy()", "traceback": []}
_STREAM = {"output_type": "stream", "name": "stdout", "text": "1\n"}


@pytest.mark.parametrize(
    ("cells", "is_silent"),
    [
        ([_ran(f"{_IMPORTS}points(1).cpu().numpy()")], True),
        ([_ran(f"{_IMPORTS}points(1).cpu().numpy()", _STREAM)], True),
        ([{**_ran(f"{_IMPORTS}points(1).cpu().numpy()", _STREAM), "execution_count": None}], True),
        ([{**_ran(f"{_IMPORTS}points(1).cpu().numpy()"), "execution_count": None}], False),
        ([_ran(f"{_IMPORTS}points(1).cpu().numpy()", _STREAM, _ERROR)], False),
        ([_ran(f"{_IMPORTS}for x in points:\n    with points:\n        points(x).cpu().numpy()")], True),
        ([_ran(f"{_IMPORTS}if points:\n    points(1).cpu().numpy()")], False),
        ([_ran(f"{_IMPORTS}later = lambda: points(1).cpu().numpy()")], False),
        ([_ran(f"{_IMPORTS}y = points(1).cpu().numpy() if points else 0")], False),
        ([_ran(f"{_IMPORTS}{_SHOWN}show(points(1))")], False),  # who has called a function is not followed
        ([_ran("import torch\nnet = torch.nn.Linear(1, 1)\nnet(x).cpu().numpy()")], False),  # what ran was other code
        ([_ran(f"{_IMPORTS}w = torch.nn.Parameter(torch.ones(1))\nw.numpy()")], False),  # the code says so
        ([_ran(f"{_IMPORTS}points.to('cuda')\npoints(1).to('cuda').numpy()")], False),  # the device is another matter
    ],
)
def test_what_a_cell_that_ran_shows(cells: list[dict[str, object]], is_silent: bool, tmp_path: Path) -> None:
    document, path = _notebook(*cells), str(tmp_path / "a.ipynb")
    assert (check_source(document, path) == []) is is_silent
    assert check_source(document, path, disable_habits=("cell-that-ran",)) != []


_IN_A_CLASS = "import torch\n\n\nclass A:\n    def f(self, x):\n        return "
_OF_A_USER = (
    "import torch\n\n\nclass {}Image:\n    def __init__(self, data: torch.Tensor):\n        self.data = data\n\n"
    "    def {}array(self):\n        return self.{}.numpy()\n"
)
_OF_A_DATASET = (
    "import torch\nfrom dataclasses import dataclass\n\n\n@dataclass\nclass Cameras:\n    places: torch.Tensor\n\n\n"
    "@dataclass\nclass Images:\n    cameras: Cameras\n\n\n"
    "class Manager:\n    train_dataset: Images\n    cameras: Cameras\n\n"
    "    def places(self):\n        return self.{}.places.numpy()\n"
)
_IN_A_HELPER = "import torch\nimport other\n\n\ndef f(x, device):\n    return "


@pytest.mark.parametrize(
    ("path", "code", "is_silent"),
    [
        ("dataset.py", f"{_IN_A_CLASS}x.numpy()\n", True),
        ("pack/data/crops.py", f"{_IN_A_CLASS}x.numpy()\n", True),
        ("pack/datasets/deep/crops.py", f"{_IN_A_CLASS}self.x.numpy()\n", True),
        ("pack/data/crops.py", f"{_IN_A_CLASS}x.to(self.device).numpy()\n", False),
        ("pack/data/crops.py", _OF_A_DATASET.format("train_dataset.cameras"), True),
        ("pack/data/crops.py", _OF_A_USER.replace("Image", "CropDataset").format("", "", "data"), True),
        ("pack/data/crops.py", _OF_A_DATASET.format("cameras"), False),
        ("pack/data/crops.py", _OF_A_USER.format("_", "", "data"), True),
        ("pack/data/crops.py", _OF_A_USER.format("", "_", "data"), True),
        ("pack/data/crops.py", f"{_IN_A_CLASS}x.requires_grad_().numpy()\n", False),
        ("pack/data/crops.py", f"{_IN_A_CLASS}x.numpy()\n\n\nif __name__ == '__main__':\n    A().f(B())\n", False),
        ("pack/models/crops.py", f"{_IN_A_CLASS}x.numpy()\n", False),
        ("data/crops.py", f"{_IN_A_CLASS}x.numpy()\n", False),  # a folder of that name is no package
        ("test_a.py", f"{_IN_A_HELPER}x.detach().numpy()\n\n\ndef test_f():\n    other.go(f)\n", False),
        ("test_a.py", f"{_IN_A_HELPER}other.y.detach().numpy()\n\n\ndef test_f():\n    other.go(f)\n", False),
    ],
)
def test_where_data_and_tests_are(path: str, code: str, is_silent: bool, tmp_path: Path) -> None:
    for folder in ("pack", "pack/data", "pack/models", "pack/datasets", "pack/datasets/deep"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    assert (check_source(code, str(tmp_path / path)) == []) is is_silent


_PUBLIC = "import torch\n\n\ndef spread(model, x: torch.Tensor):\n    return {}.cpu().numpy()\n\n\n"
_WITHOUT_GRAD = "    with torch.no_grad():\n        return spread(model, x)\n"


@pytest.mark.parametrize(
    ("code", "is_doubted"),
    [
        (_PUBLIC.format("x") + "def report(model, x):\n    return spread(model, x.detach())\n", True),
        (_PUBLIC.format("model(x)") + "def report(model, x):\n" + _WITHOUT_GRAD, True),
        (_PUBLIC.format("model(x)") + "@torch.no_grad()\ndef report(model, x):\n    return spread(model, x)\n", True),
        (_PUBLIC.format("x.argmax()") + "def report(model, x):\n" + _WITHOUT_GRAD, False),
        (_PUBLIC.format("torch.zeros_like(x)") + "def report(model, x):\n" + _WITHOUT_GRAD, False),
        # Nobody else calls what begins with an underscore, or a script's function.
        (_PUBLIC.format("model(x)").replace("spread", "_spread") + "def report(model, x):\n"
         + _WITHOUT_GRAD.replace("spread", "_spread"), False),
        (_PUBLIC.format("model(x)") + "def report(model, x):\n" + _WITHOUT_GRAD
         + "\n\nif __name__ == '__main__':\n    report(M(), torch.zeros(3))\n", False),
        # But who calls that may be called by others.
        (_PUBLIC.format("_inner(x)") + "def _inner(x):\n    return x\n\n\ndef report(model, x):\n"
         "    return spread(model, x.detach())\n", True),
        (("import torch\n\n\nclass P(torch.nn.Module):\n"
         "    def draw(self, preds):\n        return preds.cpu().numpy()\n\n"
         "    def show(self, x):\n        return self.draw(x.detach())\n"), True),
    ],
)  # fmt: skip
def test_where_the_callers_in_the_module_are_doubted(code: str, is_doubted: bool) -> None:
    assert check_source(code, "m.py") == []
    found = check_source(code, "m.py", confidence="low")
    assert [{ground.id for ground in each.evidence} for each in found] == [{"callers-in-module"}] * is_doubted
    shown = check_source(code, "m.py", disable_habits=("callers-in-module",))
    assert [each.confidence for each in shown] == ["medium"] * is_doubted


_WEIGHTS = (
    "import numpy as np\nimport torch\n\n\ndef keep(net: torch.nn.Linear, kept: np.ndarray):\n    {}\n\n\n"
    "def report(net, kept):\n    with torch.no_grad():\n        keep(net, kept)\n"
)


@pytest.mark.parametrize(
    ("code", "is_doubted"),
    [
        (_WEIGHTS.format("np.median(net.weight)"), True),
        (_WEIGHTS.format("np.median(net.weight.detach())"), False),
        (_WEIGHTS.format("list(map(np.median, [net.weight]))"), True),
        (_WEIGHTS.format("kept[:5] = net.weight"), True),
        (_WEIGHTS.format("kept[:5] = net.weight.detach()"), False),
        (_WEIGHTS.format("kept /= net.weight"), True),
    ],
)
def test_where_the_callers_of_what_other_libraries_convert_are_doubted(code: str, is_doubted: bool) -> None:
    assert check_source(code, "m.py") == []
    found = check_source(code, "m.py", confidence="low")
    assert [{ground.id for ground in each.evidence} for each in found] == [{"callers-in-module"}] * is_doubted


def test_the_list_and_the_pages(run_tonumpy: RunTonumpy) -> None:
    done = run_tonumpy("habits")
    assert (done.code, len(done.out.splitlines())) == (0, len(HABITS))
    page = run_tonumpy("explain", "habit/label-name").out
    assert page.startswith("# Labels, lengths and masks require no grad (label-name)")
    assert "did you mean `label-name`?" in run_tonumpy("explain", "habit/lable-name").err


def test_a_habit_that_there_is_not(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\ndisable-habits = ["lable-name"]\n')
    (tmp_path / "m.py").write_text("import torch\nx.numpy()\n")
    done = run_tonumpy("check", "m.py")
    assert done.code == 2
    assert "unknown habit `lable-name`; did you mean `label-name`?" in done.err
