"""A check's work grows no faster than the code: twice as much code costs about twice as many calls inside tonumpy."""

import ast
import gc
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from growth_shapes import HEAD, NESTED, OF_EVERY_RULE, SHAPES, function, module, times

from tonumpy import check_source, pipeline
from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.text.source import Source

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_other_files")]


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of Python and of C are called; the same each time, unlike seconds."""
    count = 0

    def on_event(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # else what another test has left may be collected meanwhile, with the finalizers that go with it
    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def work_for(text: str) -> int:
    return calls_of(lambda: check_source(text, "module.py"))


def test_one_call_does_not_take_all_that_may_be_spent() -> None:
    """What comes after a call that is too long to follow is followed all the same."""
    part = "    x = x + i\n" * 20
    long = "".join(f"    y = y + _part(x, {i})\n" for i in range(400))
    source = HEAD + f"def _part(x, i):\n{part}    return x\n\n\ndef _long(x):\n    y = 0\n{long}    return y\n\n\n"
    source += "def _moved(x, size):\n    return x.detach().cpu()\n\n\n"
    source += "def f(x: torch.Tensor):\n    return _moved(x, _long(x)).numpy()\n"
    assert check_source(source, "a.py") == []


def test_attributes_made_of_one_another_leave_something_to_be_spent() -> None:
    """Each is worked out twice, as it is made of itself, but not twice for each of the others that are made of it."""
    n = 10
    started = "".join(f"        self.a{i} = None\n" for i in range(n))
    made = "".join(
        f"            self.a{i} = made(self.a{i}, x)\n            x = self.a{i}.apply(x)\n" for i in range(n)
    )
    source = f"{HEAD}class C:\n    def __init__(self):\n{started}\n    def fit(self, x):\n        while x:\n{made}\n"
    source += f"    def f(self, x):\n        return _moved(self.a{n - 1}.apply(x)).numpy()\n\n\n"
    source += "def _moved(x):\n    return x.detach().cpu()\n"
    assert check_source(source, "a.py") == []


def test_what_is_compared_with_a_string_is_not_worked_out() -> None:
    """Else the whole way on which a constructor makes `self.kind` is followed, and nothing comes of it."""

    def made_in(n: int) -> str:
        made = "def _made(x):\n" + "    x = x + 1\n" * n + "    return x\n\n\n"
        constructor = "class C:\n    def __init__(self, x):\n        kind = _made(x)\n        self.kind = kind\n\n"
        method = "    def f(self, x: torch.Tensor):\n        if self.kind == 'a':\n            x = x + 1\n"
        return HEAD + made + constructor + method + "        return x.numpy()\n"

    work_for(made_in(2))
    assert work_for(made_in(200)) < 1.5 * work_for(made_in(20))


LONG = "def _long(x):\n{}    return x\n\n\n"


# How many it begins with, where these are many for what there is room for, or few for the time that they take.
FIRST = {
    "mutually recursive functions": 12,
    "asked for each of mutually recursive functions": 12,
    "decorated": 24,  # of fewer, all are followed
    "deep inheritance": 13,
    "deep inheritance asked once": 13,
    "containers in themselves": 3,
    "functions that hand on arrays": 3,
    "results that hold themselves": 3,
    "objects in their own attributes": 3,
    "tensors of one array": 60,
    "lists in a ring": 12,
    "a tuple in a tuple": 10,
    "codes in a noqa comment": 50,
    "names beside a list that grows": 200,
}


def grows_with_the_code(work_of: Callable[[int], int], first: int = 6, most: float = 2.3) -> None:
    """What comes with twice as much costs twice what came with as much, or little more: that of n log n is 2.3 here."""
    work_of(2)  # what is read and compiled once a process
    works = [work_of(first << doubled) for doubled in range(4)]
    more = [after - before for before, after in itertools.pairwise(works)]
    assert more[2] < most * more[1], works


@pytest.mark.parametrize("name", SHAPES)
def test_the_work_grows_with_the_code(name: str) -> None:
    grows_with_the_code(lambda n: work_for(SHAPES[name](n)), FIRST.get(name, 6))


@pytest.mark.parametrize("name", OF_EVERY_RULE)
def test_the_work_of_every_rule_grows_with_the_code(name: str) -> None:
    def work_of(n: int) -> int:
        source = Source(OF_EVERY_RULE[name](n).encode(), "module.py")
        return calls_of(lambda: pipeline.check(source, Settings(select=("ALL",)), Project()))

    grows_with_the_code(work_of, FIRST.get(name, 6))


def test_a_text_is_searched_once_for_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for each conversion in it, which no count of calls would show: the search is one of them."""
    asked = []
    says = Source.says

    def noted(source: Source, pattern: str) -> bool:
        asked.append((source, pattern))
        return says(source, pattern)

    monkeypatch.setattr(Source, "says", noted)
    inner = times(20, lambda i: f"    def g{i}(y):\n        return y.detach().cpu().numpy()\n\n")
    check_source(module(function(inner)), "module.py")
    assert asked
    assert len({(id(source), pattern) for source, pattern in asked}) == len(asked)


@pytest.mark.parametrize("name", NESTED)
def test_the_work_grows_with_the_depth(name: str) -> None:
    """No level may multiply the work, which twice the depth would show a hundredfold. A power is allowed here: Python
    itself nests loops no deeper than twenty, and other blocks no deeper than a hundred."""
    shape, deepest = NESTED[name]
    work_for(shape(2))
    assert work_for(shape(deepest // 2)) < 6 * work_for(shape(deepest // 4))


CELLS: dict[str, tuple[Callable[[int], str], int]] = {
    "conversions": (lambda i: f"y{i} = x + {i}\ny{i}.numpy()", 10),
    "one function anew": (  # of so many that of none all calls are followed
        lambda i: f"def f(x: torch.Tensor):\n    return x.numpy()\n\n\ny{i} = f(torch.zeros({i}))",
        25,
    ),
    "magics": (lambda i: f"%time y{i} = x.numpy()\n!ls {i}\ny{i}?", 10),
}


@pytest.mark.parametrize(("cell", "first"), CELLS.values(), ids=CELLS.keys())
def test_the_work_grows_with_the_cells_of_a_notebook(cell: Callable[[int], str], first: int) -> None:
    def notebook(n: int) -> str:
        cells = ["import torch\n\nx = torch.zeros(3, requires_grad=True)", *map(cell, range(n))]
        rest = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1}
        made = [rest | {"source": cell} for cell in cells]
        return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    def work_of(n: int) -> int:
        text = notebook(n)
        return calls_of(lambda: check_source(text, "a.ipynb"))

    grows_with_the_code(work_of, first)


def test_the_work_grows_with_the_files_that_call_a_function(tmp_path: Path) -> None:
    def work_of(n: int) -> int:
        folder = tmp_path / str(n)
        folder.mkdir()
        (folder / ".git").mkdir()  # the repository, whatever lies around the folder of the tests
        (folder / "made.py").write_text("import torch\n\n\ndef shown(x):\n    return x.cpu().numpy()\n")
        for i in range(n):
            text = f"import torch\nfrom made import shown\n\n\ndef f(x: torch.Tensor):\n    return shown(x + {i})\n"
            (folder / f"m{i}.py").write_text(text)

        def check_all() -> None:
            project = Project()
            for path in sorted(folder.glob("*.py")):
                pipeline.check(Source(path.read_bytes(), str(path)), Settings(), project)

        return calls_of(check_all)

    grows_with_the_code(work_of, 32)  # of 24 files that may call a function, and no more, the calls are followed


def test_the_work_grows_with_modules_that_import_each_other(tmp_path: Path) -> None:
    def work_of_ring(n: int) -> int:
        folder = tmp_path / str(n)
        folder.mkdir()
        for i in range(n):
            following, second = f"m{(i + 1) % n}", f"m{(i + 2) % n}"
            (folder / f"m{i}.py").write_text(
                f"import torch\nfrom {following} import made as other\nfrom {second} import made as third\n\n"
                "def made(x):\n    return other(x) or third(x)\n\ndef g(x):\n    return made(x).numpy()\n"
            )

        def check_all() -> None:
            project = Project()
            for path in sorted(folder.glob("*.py")):
                pipeline.check(Source(path.read_bytes(), str(path)), Settings(), project)

        return calls_of(check_all)

    grows_with_the_code(work_of_ring, 10)


def test_the_work_grows_with_star_imports(tmp_path: Path) -> None:
    """Every way through the modules is a way to a name that none of them has; each may be asked but once."""

    def work_of_ladder(n: int) -> int:
        folder = tmp_path / str(n)
        folder.mkdir()
        for i in range(n):
            stars = "".join(f"from m{each} import *\n" for each in range(i + 1, min(i + 4, n)))
            (folder / f"m{i}.py").write_text(
                f"import torch\n{stars}\n@patched\ndef f(x: torch.Tensor):\n    return cleaned(x).numpy()\n"
            )
        first = folder / "m0.py"
        return calls_of(lambda: pipeline.check(Source(first.read_bytes(), str(first)), Settings(), Project()))

    work_of_ladder(3)
    assert work_of_ladder(12) < 2.5 * work_of_ladder(6)


def test_the_work_grows_with_the_functions_that_another_file_calls(tmp_path: Path) -> None:
    def work(n: int) -> int:
        given = "".join(f"def shown{i}(x: torch.Tensor):\n    return x.numpy()\n\n\n" for i in range(n))
        calls = "".join(f"def g{i}(x):\n    return shapes.shown{i}(x.detach().cpu())\n\n\n" for i in range(n))
        path = tmp_path / "shapes.py"
        path.write_text(HEAD + given)
        (tmp_path / "callers.py").write_text(f"import torch\n\nimport shapes\n\n\n{calls}")
        source = Source(path.read_bytes(), str(path))
        assert pipeline.check(source, Settings(), Project()) == []
        return calls_of(lambda: pipeline.check(source, Settings(), Project()))

    grows_with_the_code(work, 8)


def test_a_long_row_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each of the findings in it, where ast counts bytes."""
    asked = []
    line = Source.line
    monkeypatch.setattr(Source, "line", lambda source, row: asked.append(row) or line(source, row))
    source = Source.from_text(f"é = [{'x.numpy(), ' * 50}]", "long.py")
    places = {source.node_start(node) for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
    assert len(places) == 50
    assert asked == [1]
