"""Promises and own sinks hold for the name that is called, wherever it is defined or handed on; one that matches
nothing in a run over the whole project is told as unused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from handed_on import LAYOUTS

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

PROMISE = '[[tool.tonumpy.promises]]\nfunction = "{}"\nreturns = "tensor"\ndevice = "cpu"\ngrad = false\n'
SINK = '[[tool.tonumpy.sinks]]\nfunction = "{}"\nconverts = 0\n'


def _uses(name: str) -> str:
    """Calls by every spelling of an import; `# 1` where something is found if the name is a sink."""
    module, _, last = name.rpartition(".")
    lines = ["import torch", "", "x = torch.zeros(3)"]
    if module.rpartition(".")[2][:1].isupper():
        module, _, owner = module.rpartition(".")
        lines += [f"import {module}", f"{module}.{owner}().{last}(1).numpy()"]
        lines += [f"from {module} import {owner} as Other", "reader = Other()", "def f():"]
        lines += [f"    return reader.{last}(1).numpy()"]
    else:
        lines += [f"import {module}", f"{module}.{last}(x.cuda()).numpy()  # 1"]
        lines += [f"from {module} import {last} as other", "def f():", "    return other(x.cuda()).numpy()  # 1"]
        lines += ["def g():", f"    from {module} import {last}", f"    return {last}(x.cuda()).numpy()  # 1"]
        lines += ["def h(load):", "    return load(x.cuda()).numpy()  # 2"]
    return "\n".join([*lines, ""])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """For each way and each name: a package whose settings speak of it by that name, and one user of each name."""
    rows = []
    for way, (files, names) in LAYOUTS.items():
        for number, named in enumerate(names):
            package = f"{way}_{number}"
            (tmp_path / package).mkdir()
            for file, text in files.items():
                path = tmp_path / package / (file if file.endswith(".pyi") else f"{file}.py")
                path.write_text(text.replace("PKG", package))
            row = named.replace("PKG", package)
            rows += [PROMISE.format(row), *([] if "class" in way else [SINK.format(row)])]
            for other, called in enumerate(names):
                (tmp_path / f"use_{package}_{other}.py").write_text(_uses(called.replace("PKG", package)))
    (tmp_path / "pyproject.toml").write_text("[tool.tonumpy]\n" + "".join(rows))
    return tmp_path


def test_each_way_and_each_name(project: Path, run_tonumpy: RunTonumpy) -> None:
    expected = set()
    for path in project.glob("use_*.py"):
        for row, line in enumerate(path.read_text().splitlines(), 1):
            code = {"1": "TNP104", "2": "TNP101"}.get(line.rpartition("# ")[2])
            expected |= {(path.name, row, code)} if code else set()
    done = run_tonumpy("check", "-q")
    found = re.findall(r"^(\w+\.py):(\d+):\d+: (TNP\d+)", done.out, re.MULTILINE)
    assert {(name, int(row), code) for name, row, code in found} == expected
    assert done.err == ""


PACKAGE = {
    "mylib/__init__.py": "from ._c import load, Reader\n",
    "mylib/io.py": "def show(x):\n    return x\n\n\ndef save(x):\n    return x\n",
    "use.py": "import mylib\nfrom mylib import io\n\nmylib.load(1).numpy()\nmylib.Reader().read(1)\nio.show(1)\n",
}
SETTINGS = """\
[tool.tonumpy]
output-format = "json"

[[tool.tonumpy.promises]]
function = ["mylib.load", "mylib.lod", "mylib.Reader.read", "mylib.Reader.raed", "mylib.Raeder.read"]
returns = "tensor"
device = "cpu"
grad = false

[[tool.tonumpy.sinks]]
function = "mylib.io.show"
converts = 0

[[tool.tonumpy.sinks]]
function = 'mylib.io.save'
converts = 0
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    (tmp_path / "mylib").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    return tmp_path


def test_what_is_kept_is_looked_at_again_where_a_stub_changes(library: Path, run_tonumpy: RunTonumpy) -> None:
    """The result cache knows that a name may be handed on by a stub."""
    for number in range(8):
        (library / f"other_{number}.py").write_text("def f(x):\n    return x\n")
    (library / "mylib" / "__init__.py").write_text("def __getattr__(name):\n    return make(name)\n")
    (library / "mylib" / "io.py").write_text("def load(path):\n    return make(path)\n")
    (library / "use.py").write_text("import torch\nimport mylib\n\nmylib.load(1).numpy()\n")
    (library / "pyproject.toml").write_text("[tool.tonumpy]\n" + PROMISE.format("mylib.io.load"))
    environment = {"TONUMPY_NO_CACHE": ""}
    for text, count in (("", 1), ("from .io import load as load\n", 0), ("load: object\n", 1)):
        (library / "mylib" / "__init__.pyi").write_text(text)
        for _ in range(2):
            assert run_tonumpy("check", "-q", **environment).out.count("TNP101") == count, text
