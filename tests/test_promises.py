"""Promises of one's own code in pyproject.toml: believed by the command and by flake8, refused where they are wrong."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tonumpy.config import ConfigError, read_table
from tonumpy.own_functions import DEVICES, GRADS

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

CPU = 'returns = "tensor"\ndevice = "cpu"\ngrad = false\n'


def promise(folder: Path, function: str, rest: str) -> None:
    (folder / "pyproject.toml").write_text(f"[[tool.tonumpy.promises]]\nfunction = {function}\n{rest}")


def reported(run_tonumpy: RunTonumpy, path: Path, body: str, *, asks_flake8: bool = False) -> list[str]:
    """The rows of a script, and their codes, for the command; flake8 must agree where it is asked."""
    (path / "script.py").write_text(f"import torch\n{body}")
    lines = run_tonumpy("check", "-q", "script.py").out.splitlines()
    found = [f"{line.split(':')[1]} {line.split()[1]}" for line in lines]
    if not asks_flake8:
        return found
    flake8 = [sys.executable, "-m", "flake8", "--isolated", "--select=TNP", "script.py"]
    theirs = subprocess.run(flake8, cwd=path, capture_output=True, text=True).stdout.splitlines()
    assert [f"{line.split(':')[1]} {line.split()[1]}" for line in theirs] == found
    return found


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A package that hands a function out from its top, and that tells nothing of what it gives."""
    (tmp_path / "mylib").mkdir()
    (tmp_path / "mylib" / "__init__.py").write_text("from mylib.io import load, Reader, registered\n")
    (tmp_path / "mylib" / "io.py").write_text(
        "import torch\nimport registry\n\n\n"
        "def load(path):\n    return registry.get('load')(path)\n\n\n"
        "def other(path):\n    return registry.get('load')(path)\n\n\n"
        "class Reader:\n    def read(self, path):\n        return registry.get('load')(path)\n\n"
        "    def __call__(self, path):\n        return registry.get('load')(path)\n"
    )
    return tmp_path


CALLS = (
    "import mylib\nfrom mylib.io import load, other\n\nmylib.load('a').numpy()\nload('a').numpy()\nother('a').numpy()\n"
)


def test_without_a_promise_all_is_reported(library: Path, run_tonumpy: RunTonumpy) -> None:
    assert reported(run_tonumpy, library, CALLS) == ["5 TNP101", "6 TNP101", "7 TNP101"]


@pytest.mark.parametrize("name", ["mylib.load", "mylib.io.load"])
def test_a_function_by_any_name_that_it_is_imported_by(library: Path, run_tonumpy: RunTonumpy, name: str) -> None:
    promise(library, f'"{name}"', CPU)
    assert reported(run_tonumpy, library, CALLS, asks_flake8=True) == ["7 TNP101"]
    assert run_tonumpy("check", "--isolated", "-q", "script.py").out.count("TNP101") == 3


def test_in_the_file_that_defines_it(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    promise(tmp_path, '"script.load"', CPU)
    body = "\n\ndef load(path):\n    return open_it(path)\n\n\ndef f(x):\n    return load(x).numpy(), x.numpy()\n"
    assert reported(run_tonumpy, tmp_path, body) == ["9 TNP101"]


def test_methods_and_calls_of_objects(library: Path, run_tonumpy: RunTonumpy) -> None:
    promise(library, '["mylib.Reader.read", "mylib.Reader.__call__"]', CPU)
    body = "from mylib import Reader\n\nr = Reader()\nr.read('a').numpy()\nr('a').numpy()\nr.skip('a').numpy()\n"
    assert reported(run_tonumpy, library, body, asks_flake8=True) == ["7 TNP101"]


def test_what_is_not_in_sight(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    promise(tmp_path, '["far.load", "far.Reader.read", "far.Reader.__call__"]', CPU)
    body = (
        "import far\nfrom far import load\n\nfar.load(1).numpy()\nload(1).numpy()\nfar.Reader().read(1).numpy()\n"
        "far.Reader()(1).numpy()\nfar.other(1).numpy()\n"
    )
    assert reported(run_tonumpy, tmp_path, body) == ["9 TNP101"]


@pytest.mark.parametrize(
    ("rest", "use", "expected"),
    [
        ('returns = "tensor"\ndevice = "cpu"', "r.numpy()", ["4 TNP101"]),
        ('returns = "tensor"\ndevice = "accelerator"\ngrad = false', "r.detach().numpy()", ["4 TNP103"]),
        ('returns = "tensor"\ndevice = "first"\ngrad = "first"', "r.numpy()", []),
        ('returns = ["tensor", "plain:dict"]\ndevice = "cpu"\ngrad = false', "r[0].numpy(), r[1].numpy()", []),
        ('returns = "sequence"\ndevice = "cpu"\ngrad = false', "[each.numpy() for each in r]", []),
        ('returns = "mapping"\ndevice = "cpu"\ngrad = false', "r['a'].numpy()", []),
        ('returns = "tuple:2"\ndevice = "cpu"\ngrad = false', "r[1].numpy()", []),
        ('returns = "first"', "r.numpy()", []),
        ('returns = "tensor"\ndevice = "cpu"\ngrad = false\ndtype = "bfloat16"', "r.numpy()", ["4 TNP105"]),
        ('returns = "tensor"\ndevice = "argument"\nkeyword = "where"\ngrad = false', "r.numpy()", []),
    ],
)
def test_what_a_row_says(tmp_path: Path, run_tonumpy: RunTonumpy, rest: str, use: str, expected: list[str]) -> None:
    promise(tmp_path, '"far.load"', f"{rest}\n")
    assert reported(run_tonumpy, tmp_path, f"import far\nr = far.load(torch.zeros(3))\n{use}\n") == expected


def row(**changes: object) -> dict[str, object]:
    return {"function": "mylib.load", "returns": "tensor"} | changes


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({}, "expected rows, [[tool.tonumpy.promises]]"),
        ([1], "row 1: expected a table, found 1"),
        ([row(), row(grads=False)], "row 2 (mylib.load): there is no key `grads`; did you mean `grad`?"),
        ([{"returns": "tensor"}], "row 1: the key `function` is missing"),
        ([{"function": "mylib.load"}], "row 1 (mylib.load): the key `returns` is missing"),
        ([row(function="load")], "row 1 (load): function: expected the full name of a function, `mylib.load`, found "),
        ([row(function=["a.b", 3])], "row 1: function: expected the full name"),
        ([row(returns="tensors")], 'row 1 (mylib.load): returns: expected one or several of "tensor", "sequence", '),
        ([row(returns=[])], "row 1 (mylib.load): returns: expected one or several of"),
        ([row(device="cuda")], "row 1 (mylib.load): device: expected cpu or accelerator or first or "),
        ([row(grad=True)], "row 1 (mylib.load): grad: expected false or never or first or "),
        ([row(grad=0.0)], "row 1 (mylib.load): grad: expected false or never or first or "),
        ([row(dtype="float")], None),
        (
            [row(dtype="floot")],
            "row 1 (mylib.load): dtype: expected the name of a dtype of torch, first or self, found ",
        ),
        ([row(position=-1)], "row 1 (mylib.load): position: expected the position of an argument, from 0, found -1"),
        ([row(keyword=1)], "row 1 (mylib.load): keyword: expected the name of an argument, found 1"),
    ],
)
def test_a_wrong_row_is_refused_with_its_place(rows: object, message: str | None) -> None:
    if message is None:
        assert read_table({"promises": rows}, "p.toml")["promises"]
        return
    with pytest.raises(ConfigError) as caught:
        read_table({"promises": rows}, "p.toml")
    assert str(caught.value).startswith(f"p.toml: [tool.tonumpy] promises: {message}")


def test_the_words_are_those_of_the_rows_of_libraries() -> None:
    import test_libraries

    assert set(DEVICES) <= test_libraries.words_of("Where")
    assert set(GRADS) <= test_libraries.words_of("Whether")
    for kind in ("tensor", "sequence", "mapping", "pairs", "optionals", "none", "self", "first", "second", "tuple:2"):
        assert test_libraries.RETURNS.fullmatch(kind), kind
