"""A test function in; what pytest gives its parameters out: what fixtures return, and what it is parametrized with.

Where pytest looks for a fixture: https://docs.pytest.org/en/stable/reference/fixtures.html#fixture-availability
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from tonumpy.chains import last_name
from tonumpy.inference.callers import is_test_module
from tonumpy.inference.expressions import evaluate, item_of, settle
from tonumpy.inference.symbols import FunctionNode, own_expressions, parameter_names, statements_of
from tonumpy.inference.syntax import walk
from tonumpy.inference.values import Arguments, Function, Instance, Sequence, Unknown, Value, join_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.inference.analysis import Analysis
    from tonumpy.inference.project import Module

_CONFTEST = "conftest"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class GivenByPytest:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._asked: set[int] = set()  # the fixtures that are being asked: one may take another of its own name

    def of(self, function: Function) -> dict[str, Value]:
        """The parameters of a test, or of a fixture, of which pytest shows something."""
        node = function.node
        if isinstance(node, ast.Lambda) or not _is_run_by_pytest(node, function.module):
            return {}
        found = self._parametrized(function, node)
        for name in parameter_names(node.args):
            fixture = None if name in found else next(self._fixtures(function, name), None)
            if fixture is not None:
                found[name] = self._given_by(fixture)
        return found

    def _parametrized(self, function: Function, node: FunctionNode) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for call in (*node.decorator_list, *(() if function.owner is None else function.owner.node.decorator_list)):
            if isinstance(call, ast.Call) and last_name(call.func) == "parametrize" and len(call.args) == 2:
                names = _names_listed(call.args[0])
                if not any(keyword.arg == "indirect" for keyword in call.keywords):
                    found.update(zip(names, self._in_turn(function.module, call.args[1], len(names)), strict=True))
        return found

    def _in_turn(self, module: Module, listed: ast.expr, count: int) -> list[Value]:
        """For each of so many parameters the join of all that is listed for it."""
        frame = self._analysis.module_scope(module)
        if isinstance(listed, (ast.List, ast.Tuple)):
            rows = [_row(part, count) for part in listed.elts]
            known = [[settle(evaluate(frame, part)) for part in row] for row in rows if row is not None]
            if len(known) == len(rows):
                return [join_all(values) for values in zip(*known, strict=True)] or [Unknown("parameter")] * count
        row = item_of(frame, evaluate(frame, listed))
        if count == 1:
            return [row]
        items = row.items if isinstance(row, Sequence) and row.items is not None and len(row.items) == count else None
        return [Unknown("parameter")] * count if items is None else list(items)

    def _fixtures(self, function: Function, name: str) -> Iterator[Function]:
        """The fixtures of this name that a function may ask for, the nearest first."""
        module, owner = function.module, function.owner
        for place in (module, *module.project.modules_above(_CONFTEST, module.folder)):
            for cls in (owner, None) if place is module and owner is not None else (None,):
                node = place.derived(_fixtures_in, place.tree if cls is None else cls.node).get(name)
                if node is not None and id(node) not in self._asked:
                    yield Function(node, place, cls, None, is_bare=True)

    def _given_by(self, fixture: Function) -> Value:
        assert isinstance(fixture.node, _FUNCTIONS)
        self._asked.add(id(fixture.node))
        try:
            receiver = None if fixture.owner is None else Instance(fixture.owner)
            arguments = Arguments((), tuple(self.of(fixture).items()))
            value = self._analysis.call_function(fixture, receiver, arguments, True)
        finally:
            self._asked.discard(id(fixture.node))
        return value.element if isinstance(value, Sequence) and _yields(fixture.node) else value


def _is_run_by_pytest(node: FunctionNode, module: Module) -> bool:
    is_there = is_test_module(module.filename) or os.path.basename(module.filename) == f"{_CONFTEST}.py"
    return is_there and (node.name.startswith("test") or _fixture_name(node) is not None)


def _fixtures_in(scope: ast.Module | ast.ClassDef) -> dict[str, FunctionNode]:
    functions = [node for node in scope.body if isinstance(node, _FUNCTIONS)]
    return {name: node for node in functions if (name := _fixture_name(node)) is not None}


def _fixture_name(node: FunctionNode) -> str | None:
    """The name under which tests ask for a fixture; None where the function is no fixture."""
    for decorator in node.decorator_list:
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        if last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) == "fixture":
            given = [each.value for each in keywords if each.arg == "name"]
            return next((_text(each) for each in given), node.name)
    return None


def _names_listed(node: ast.expr) -> list[str]:
    """`"x, y"`, `("x", "y")`."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_text(part) or "" for part in node.elts]
    return [name.strip() for name in (_text(node) or "").split(",")]


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _row(node: ast.expr, count: int) -> list[ast.expr] | None:
    """What is given to so many parameters at once: `(1, 2)`, `pytest.param(1, 2, id="small")`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "param":
        row = node.args
    elif count == 1:
        row = [node]
    else:
        row = node.elts if isinstance(node, (ast.List, ast.Tuple)) else []
    return row if len(row) == count and not any(isinstance(part, ast.Starred) for part in row) else None


def _yields(node: FunctionNode) -> bool:
    expressions = (each for statement in statements_of(node.body) for each in own_expressions(statement))
    return any(isinstance(inner, ast.Yield) for expression in expressions for inner in walk(expression))
