"""A safe fix of an argument leaves what worked with a list, an array or a number."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fixture_format import Fixture
from test_fixtures import FIXTURES, fixed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import RunTonumpy

torch = pytest.importorskip("torch")
np = pytest.importorskip("numpy")

CODES = {"TNP104", "TNP105", "TNP106", "TNP107", "TNP108", "TNP206"}
KINDS = ([1.0, 2.0], (1.0, 2.0), np.ones(2), np.float32(1), 2.0, True, "a", None)
MOST = 3  # parameters that are varied


def concerned(fixture: Fixture) -> bool:
    return any(each.code in CODES and each.applicability != "display-only" for each in fixture.expected)


CONCERNED = [each for each in FIXTURES if concerned(each)]


def names_of(text: bytes) -> dict[str, object]:
    """What a fixture defines, as far as it can be run here: each of its statements by itself."""
    names: dict[str, object] = {"__name__": "fixture"}
    for statement in ast.parse(text).body:
        if isinstance(statement, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign, ast.ClassDef)):
            with contextlib.suppress(Exception, SystemExit):
                exec(compile(ast.Module([statement], []), "fixture", "exec"), names)
    return names


def functions_of(fixture: Fixture) -> Iterator[ast.FunctionDef]:
    """Those with a finding of these codes that the fixture itself does not call: where it does, its calls decide."""
    tree = ast.parse(fixture.path.read_bytes())
    called = {each.func.id for each in ast.walk(tree) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    rows = {each.row for each in fixture.expected if each.code in CODES}
    for node in tree.body:
        is_concerned = isinstance(node, ast.FunctionDef) and rows & {*range(node.lineno, (node.end_lineno or 0) + 1)}
        if isinstance(node, ast.FunctionDef) and is_concerned and node.name not in called:
            yield node


def arguments_of(function: ast.FunctionDef) -> Iterator[tuple[object, ...]]:
    """Every combination that the signature does not forbid."""
    choices = []
    for parameter in function.args.args:
        told = "" if parameter.annotation is None else ast.unparse(parameter.annotation)
        if not told:
            choices.append([*KINDS, torch.ones(2)])
        elif "Tensor" in told:
            choices.append([torch.ones(2)])
        elif "Linear" in told:
            choices.append([torch.nn.Linear(2, 2)])
        elif told in ("int", "float", "str", "bool"):
            choices.append([{"int": 1, "float": 1.0, "str": "x", "bool": True}[told]])
        else:
            return
    if sum(len(each) > 1 for each in choices) <= MOST:
        yield from itertools.product(*choices)


def outcome(function: object, arguments: tuple[object, ...]) -> object:
    """What comes of a call; None where it raises."""
    copies = [each.clone() if isinstance(each, torch.Tensor) else each for each in arguments]
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ("worked", function(*copies))  # type: ignore[operator]
        except Exception:
            return None


@pytest.mark.parametrize("fixture", CONCERNED, ids=[each.name for each in CONCERNED])
def test_what_worked_works_after_the_fix(fixture: Fixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    before = fixture.path.read_bytes()
    after, _ = fixed(before, fixture._replace(options=fixture.options - {"--unsafe-fixes"}))
    functions = [each for each in functions_of(fixture) if each.args.args]
    if not functions:
        return
    old, new = names_of(before), names_of(after)
    for node in functions:
        for arguments in arguments_of(node):
            worked = outcome(old.get(node.name), arguments)
            if worked is not None:
                repaired = outcome(new.get(node.name), arguments)
                assert repaired is not None, (node.name, arguments)
                assert repr(repaired) == repr(worked) or not np.isscalar(worked), (node.name, arguments)


def test_a_program_prints_the_same_after_the_fix(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    shutil.copy(Path(__file__).with_name("safe_fix_program.py"), path)

    def printed() -> str:
        run = subprocess.run([sys.executable, "-W", "ignore", path.name], cwd=tmp_path, capture_output=True, text=True)
        return run.stdout + run.stderr

    before = printed()
    assert "Error" not in before
    run_tonumpy("fix", path.name)
    assert path.read_text().count(".detach()") > 5
    assert printed() == before
    run_tonumpy("fix", "--unsafe-fixes", path.name)
    assert "AttributeError" in printed()  # else it says nothing
