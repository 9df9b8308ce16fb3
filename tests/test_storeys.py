"""Imports run down the storeys of the house, and no two modules import each other, be it for their types alone."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
# From the ground up; what is not named stands above all that is.
STOREYS = """
facts formats suggestions own_functions garbage findings globs text wanted_errors boundary
engine.knowledge.grad_contexts engine.knowledge.methods
engine.names engine.values engine.knowledge engine.interpreter engine.summaries
detectors.memory conversions detectors repair phrases related rules
setting_values config
report
observed
judgements
device_choices pipeline
answers why rehearsal.events rehearsal.frames rehearsal.sending
rehearsal.child.tonumpy_import_hook rehearsal.standin rehearsal
""".split()


def _edges() -> list[tuple[str, str, bool, str]]:
    """Every import of one of our modules by another, whether it stands in a function, and its line."""
    paths = {_name_of(path): path for path in sorted((SOURCE / "tonumpy").rglob("*.py"))}
    found = []
    for module, path in paths.items():
        tree, lines = ast.parse(path.read_text()), path.read_text().splitlines()
        functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        inner = {id(node) for function in functions for node in ast.walk(function)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                for name in {alias.name for alias in node.names}:
                    imported = f"{node.module}.{name}" if f"{node.module}.{name}" in paths else node.module
                    if imported in paths and imported != "tonumpy":
                        found.append((_short(module), _short(imported), id(node) in inner, lines[node.lineno - 1]))
    return found


def _name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def _short(module: str) -> str:
    return module.removeprefix("tonumpy.")


def _storey_of(module: str) -> int:
    return next((STOREYS.index(each) for each in _packages(module) if each in STOREYS), len(STOREYS))


def _packages(module: str) -> list[str]:
    """The module and the packages around it, the innermost first."""
    parts = module.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]


EDGES = _edges()


def test_imports_run_down() -> None:
    up = {(one, other) for one, other, *_ in EDGES if _storey_of(one) < _storey_of(other)}
    assert sorted(up) == []


def test_no_modules_import_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for one, other, *_ in EDGES:
        graph.setdefault(one, set()).add(other)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_an_import_in_a_function_says_that_it_saves_start_up() -> None:
    silent = {(one, other) for one, other, is_inner, line in EDGES if is_inner and "start-up" not in line}
    assert sorted(silent) == []
