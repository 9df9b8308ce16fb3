"""A check's work grows no faster than the code: twice as much code costs about twice as many calls inside tonumpy."""

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest
from growth_shapes import CUBE, LINEAR, SQUARE

from tonumpy import check_source, pipeline
from tonumpy.config import Settings
from tonumpy.inference.index.project import Project
from tonumpy.text.source import Source

HEAD = "import torch\n\n"


def functions(n: int) -> str:
    return HEAD + "\n".join(f"def f{i}(x: torch.Tensor):\n    y = x + {i}\n    return y.numpy()\n" for i in range(n))


def functions_that_call_each_other_in_turn(n: int) -> str:
    bodies = (f"def _f{i}(x):\n    y = _f{i + 1}(x)\n    return y.numpy()\n" for i in range(n))
    return HEAD + "\n".join(bodies) + f"\ndef _f{n}(x):\n    return torch.zeros(3)\n"


def mutually_recursive_functions(n: int) -> str:
    calls = (f"def _f{i}(x):\n    return _f{(i + 1) % n}(x) or _f{(i + 2) % n}(x)\n" for i in range(n))
    return HEAD + "\n".join(calls) + "\ndef g(x: torch.Tensor):\n    return _f0(x).numpy()\n"


def asked_for_each_of_mutually_recursive_functions(n: int) -> str:
    asked = (f"def g{i}(x: torch.Tensor):\n    return _f{i}(x).numpy()\n" for i in range(n))
    return mutually_recursive_functions(n) + "\n".join(asked)


def results_that_hold_themselves(n: int) -> str:
    branches = "".join(
        f"    if kind == {i}:\n        first, changed = cast(x[0], kind)\n"
        "        if changed:\n            return [cast(each, kind)[0] for each in x], True\n"
        "        return {name: cast(each, kind)[0] for name, each in x.items()}, first\n"
        for i in range(n)
    )
    asked = "def f(x, kind):\n    return cast(x, kind)[0].numpy()\n"
    return HEAD + f"def cast(x, kind):\n{branches}    return torch.zeros(3), False\n\n{asked}"


def attributes_made_of_each_other(n: int) -> str:
    body = "".join(
        f"    def f{i}(self):\n        self.a{i} = self.a{(i + 1) % n} + self.a{(i + 2) % n}\n"
        f"    def g{i}(self):\n        return self.a{i}.numpy()\n"
        for i in range(n)
    )
    return HEAD + f"class C:\n    def __init__(self, x: torch.Tensor):\n        self.a0 = x\n{body}"


def functions_that_hand_on_arrays(n: int) -> str:
    bodies = (
        f"def f{i}(x):\n    y = f{(i + 1) % n}(x)\n    x[{i}] = 0\n    f{(i + 2) % n}(x.view(-1))\n"
        f"    return y or x.detach().cpu().numpy()\n"
        for i in range(n)
    )
    return HEAD + "\n".join(bodies)


def parts_of_a_tensor(n: int) -> str:
    body = "".join(f"    a{i} = x[{i}].detach().cpu().numpy()\n    x[{i}] += 1\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n{body}    return a0\n"


def statements(n: int) -> str:
    body = "".join(f"    x = x + {i}\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n{body}    return x.numpy()\n"


def names_beside_an_array(n: int) -> str:
    body = "".join(f"    a{i} = torch.zeros({i})\n" for i in range(8 * n))
    return HEAD + f"def f(x: torch.Tensor):\n    y = x.numpy()\n{body}    x += 1\n    return y\n"


def links(n: int) -> str:
    return HEAD + f"def f(x: torch.Tensor):\n    return x{'.abs()' * n}.numpy()\n"


def nested_loops(n: int) -> str:
    lines = [f"{'    ' * (depth + 1)}for i{depth} in range(3):\n" for depth in range(n)]
    inner = "    " * (n + 1)
    return HEAD + f"def f(x: torch.Tensor):\n{''.join(lines)}{inner}x = x + 1\n{inner}print(x.numpy())\n"


def branches_in_a_row(n: int) -> str:
    body = "".join(f"    if flag[{i}]:\n        x = x + 1\n    else:\n        x = x.cuda()\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor, flag):\n{body}    return x.numpy()\n"


def cases_in_a_row(n: int) -> str:
    body = "".join(f"        case {i}:\n            x = x + {i}\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor, kind):\n    match kind:\n{body}    return x.numpy()\n"


def nested_branches(n: int) -> str:
    lines = [f"{'    ' * (depth + 1)}if flag[{depth}]:\n{'    ' * (depth + 2)}x = x + 1\n" for depth in range(n)]
    return HEAD + f"def f(x: torch.Tensor, flag):\n{''.join(lines)}    return x.numpy()\n"


def conversions_in_one_statement(n: int) -> str:
    return HEAD + f"def f(x: torch.Tensor):\n    return [{', '.join(['x.numpy()'] * n)}]\n"


def arguments_in_one_statement(n: int) -> str:
    calls = ", ".join(["np.asarray(x.cuda())"] * n)
    return HEAD + f"import numpy as np\n\ndef f(x: torch.Tensor):\n    return [{calls}]\n"


def arguments_in_functions(n: int) -> str:
    bodies = (f"def f{i}(x: torch.Tensor):\n    x = x.cuda()\n    return np.asarray(x)\n" for i in range(n))
    return HEAD + "import numpy as np\n\n" + "\n".join(bodies)


def names_of_a_module(n: int) -> str:
    names = "".join(f"a{i} = torch.zeros(3)\na{i} = a{i} + 1\n" for i in range(n))
    return HEAD + names + "".join(f"\ndef f{i}():\n    return a{i}.numpy()\n" for i in range(n))


def attributes_of_a_class(n: int) -> str:
    made = "".join(f"        self.a{i} = torch.zeros({i})\n" for i in range(n))
    read = "".join(f"    def f{i}(self):\n        return self.a{i}.numpy()\n\n" for i in range(n))
    return HEAD + f"class C:\n    def __init__(self):\n{made}\n{read}"


SHAPES = (
    functions,
    functions_that_call_each_other_in_turn,
    mutually_recursive_functions,
    asked_for_each_of_mutually_recursive_functions,
    results_that_hold_themselves,
    attributes_made_of_each_other,
    functions_that_hand_on_arrays,
    parts_of_a_tensor,
    statements,
    names_beside_an_array,
    links,
    branches_in_a_row,
    cases_in_a_row,
    conversions_in_one_statement,
    arguments_in_one_statement,
    arguments_in_functions,
    names_of_a_module,
    attributes_of_a_class,
)


def calls_of(work: Callable[[], object]) -> int:
    """How many functions of Python and of C are called; the same each time, unlike seconds."""
    count = 0

    def on_event(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(before)
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
NOTHING_ASKED = {  # `clone`, so that nobody asks who writes to the array either
    "what is done with the array": "def f(x: torch.Tensor):\n    return _long(x.clone().numpy())\n",
    "what a function gives, for those who call it": (
        "def _shown(x):\n    return _long(x.clone().numpy())\n\n\ndef f(x: torch.Tensor):\n    return _shown(x.cpu())\n"
    ),
    "the callers, where a name says that no tensor requires grad": (
        "def _shown(labels):\n    return labels.clone().cpu().numpy()\n\n\ndef f(x):\n    return _shown(_long(x))\n"
    ),
    "the callers, where what they give changes nothing": (
        "class C:\n    def __init__(self):\n        self.net = torch.nn.Linear(3, 3)\n\n"
        "    def shown(self, x):\n        return self.net(x).clone().cpu().numpy()\n\n"
        "    def f(self, x):\n        return self.shown(_long(x).detach())\n"
    ),
    "the rest of a constructor that stores a parameter": (
        "class C:\n    def __init__(self, x: torch.Tensor, z):\n        self.y = _long(z)\n        if self.y is None:\n"
        "            raise ValueError\n        self.x = x\n\n"
        "    def f(self):\n        return self.x.numpy()\n"
    ),
    "what an attribute holds that another hangs on": (
        "class C:\n    def __init__(self, net, key):\n        self.net = net\n        self.key = self.net.key\n"
        "        self.made = _long(self.key)\n        self.made.key = self.key\n\n"
        "    def f(self, x):\n        return self.net(x).numpy()\n"
    ),
    "the methods of another framework's classes": (
        "import tensorflow as tf\n\n\nclass M(tf.keras.Model):\n    def made(self, x):\n        return _long(x)\n\n\n"
        "def f(m: M, x: torch.Tensor):\n    return (x + m.made(x)).cpu().numpy()\n"
    ),
    "what gives no tensors of torch": (
        "def _batch(x, return_tensors=None):\n    return _long(x)\n\n\n"
        "def f(x):\n    return _batch(x, return_tensors='tf').numpy()\n"
    ),
    "the number of a token": (
        "class T:\n    @property\n    def pad_token_id(self):\n        return _long(self)\n\n\n"
        "def f(x: torch.Tensor):\n    return (x == T().pad_token_id).numpy()\n"
    ),
}


@pytest.mark.parametrize("rest", NOTHING_ASKED.values(), ids=NOTHING_ASKED.keys())
def test_what_nobody_asks_for_is_not_worked_out(rest: str) -> None:
    def text(n: int) -> str:
        return HEAD + LONG.format("    x = x + 1\n" * n) + rest

    work_for(text(2))
    assert work_for(text(200)) < 2 * work_for(text(20))  # to read the text costs something, too


def test_what_only_a_main_guard_calls_is_run_once() -> None:
    """Its callers cost so little that nobody sees first what it comes to without them."""
    made = "    x = torch.rand(3, requires_grad=True)\n" + "    x = x + 1\n" * 200
    called, guard = (
        "def main():\n" + made + "    return x.clone().numpy()\n",
        '\n\nif __name__ == "__main__":\n    {}\n',
    )
    work_for(HEAD + called)
    assert work_for(HEAD + called + guard.format("main()")) < 1.3 * work_for(HEAD + called)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_grows_with_the_code(shape: Callable[[int], str]) -> None:
    work_for(shape(2))  # what is read and compiled once a process
    assert work_for(shape(80)) < 2.5 * work_for(shape(40))


def works_for(shape: Callable[[int], str], n: int) -> list[int]:
    """For n, 2n, 4n and 8n."""
    work_for(shape(2))  # what is read and compiled once a process
    return [work_for(shape(n << times)) for times in range(4)]


@pytest.mark.parametrize("shape", LINEAR)
def test_each_doubling_costs_twice_as_much(shape: Callable[[int], str]) -> None:
    works = works_for(shape, 6)
    assert all(more < 2.5 * less for less, more in itertools.pairwise(works)), works


@pytest.mark.parametrize(("shape", "most"), [*((shape, 4.3) for shape in SQUARE), *((shape, 7.3) for shape in CUBE)])
def test_nothing_multiplies_with_each_more(shape: Callable[[int], str], most: float) -> None:
    works = works_for(shape, 4)
    assert all(more < most * less for less, more in itertools.pairwise(works)), works


def test_the_work_grows_with_the_cells_of_a_notebook() -> None:
    def notebook(n: int) -> str:
        cells = ["import torch\n\nx = torch.zeros(3, requires_grad=True)"]
        cells += [f"y{i} = x + {i}\ny{i}.numpy()" for i in range(n)]
        rest = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
        made = [rest | {"source": cell} for cell in cells]
        return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    def work_of(n: int) -> int:
        text = notebook(n)
        return calls_of(lambda: check_source(text, "a.ipynb"))

    work_of(2)
    works = [work_of(n) for n in (10, 20, 40, 80)]
    assert all(more < 2.5 * less for less, more in itertools.pairwise(works)), works


def test_the_work_grows_with_the_files_that_call_a_function(tmp_path: Path) -> None:
    def work_of(n: int) -> int:
        folder = tmp_path / str(n)
        folder.mkdir()
        (folder / "made.py").write_text("import torch\n\n\ndef shown(x):\n    return x.cpu().numpy()\n")
        for i in range(n):
            text = f"import torch\nfrom made import shown\n\n\ndef f(x: torch.Tensor):\n    return shown(x + {i})\n"
            (folder / f"m{i}.py").write_text(text)

        def check_all() -> None:
            project = Project()
            for path in sorted(folder.glob("*.py")):
                pipeline.check(Source(path.read_bytes(), str(path)), Settings(), project)

        return calls_of(check_all)

    work_of(3)
    works = [work_of(n) for n in (8, 16, 32, 64)]
    assert all(more < 2.5 * less for less, more in itertools.pairwise(works)), works


@pytest.mark.parametrize(("shape", "most"), [(nested_loops, 18), (nested_branches, 80)])
def test_the_work_grows_with_the_depth(shape: Callable[[int], str], most: int) -> None:
    """No level may multiply the work, which twice the depth would show a hundredfold. A power is allowed here: Python
    itself nests loops no deeper than twenty, and other blocks no deeper than a hundred."""
    work_for(shape(2))
    assert work_for(shape(most)) < 6 * work_for(shape(most // 2))


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

    work_of_ring(3)
    assert work_of_ring(40) < 2.5 * work_of_ring(20)


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
