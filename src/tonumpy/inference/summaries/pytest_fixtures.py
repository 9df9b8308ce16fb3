"""From a test function to the values that pytest gives its parameters: parametrized values, or what fixtures return.

What the package `parameterized` lists is the same, by whichever program the test is run.

Where pytest looks for a fixture: https://docs.pytest.org/en/stable/reference/fixtures.html#fixture-availability

What is listed for a parameter: https://docs.pytest.org/en/stable/reference/reference.html#pytest-mark-parametrize

What parameterized calls a test with: https://github.com/wolever/parameterized#readme
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import FunctionNode, arguments_of, parameter_names
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.values import (
    Arguments,
    Constant,
    Function,
    Instance,
    LibraryObject,
    NonTensor,
    Sequence,
    Unknown,
    Value,
)
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.members import item_of, resolve
from tonumpy.inference.transfer.python_builtins import PARAMETER_SET
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.engine.names.module import Module
    from tonumpy.inference.summaries.analysis import Analysis
    from tonumpy.inference.transfer.frame import Frame


class GivenByPytest:
    """Parameters of tests and fixtures, as pytest binds them."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._asked: set[int] = set()  # the fixtures that are being asked: one may take another of its own name

    def of(self, function: Function) -> dict[str, Value]:
        """The values of the parameters of a test or fixture that pytest determines."""
        node = function.node
        if isinstance(node, ast.Lambda) or not _is_run_by_pytest(node, function.module):
            return {}
        decorators = node.decorator_list + ([] if function.owner is None else function.owner.node.decorator_list)
        calls = [each for each in decorators if isinstance(each, ast.Call) and last_name(each.func) == "parametrize"]
        frame = self._analysis.module_scope(function.module)
        listed = {name: value for call in calls for name, value in _listed(frame, call)}
        names = parameter_names(node.args)[0 if function.owner is None else 1 :]
        for call in node.decorator_list:
            if isinstance(call, ast.Call) and path_of(call.func) == "parameterized.expand":
                listed.update(_expanded(frame, call, names))
        asked = (name for name in parameter_names(node.args) if name not in listed)
        found = {name: next(self._fixtures(function, name), None) for name in asked}
        given = {name: self._given_by(fixture) for name, fixture in found.items() if fixture is not None}
        return given | {name: value for name, value in listed.items() if _tells_of_tensors(value)}

    def _fixtures(self, function: Function, name: str) -> Iterator[Function]:
        """The fixtures of this name that a function may ask for, the nearest first."""
        module, owner = function.module, function.owner
        for place in (module, *module.conftests):
            for cls in (owner, None) if place is module and owner is not None else (None,):
                node = place.derived(_fixtures_in, place.tree if cls is None else cls.node).get(name)
                if node is not None and id(node) not in self._asked:
                    yield Function(node, place, cls)

    def _given_by(self, fixture: Function) -> Value:
        assert isinstance(fixture.node, FUNCTIONS)
        self._asked.add(id(fixture.node))
        try:
            receiver = None if fixture.owner is None else Instance(fixture.owner)
            arguments = Arguments((), tuple(self.of(fixture).items()))
            value = self._analysis.functions.call_function(fixture, receiver, arguments, True)
        finally:
            self._asked.discard(id(fixture.node))
        return value.element if isinstance(value, Sequence) and _yields(fixture.node) else value


def _is_run_by_pytest(node: FunctionNode, module: Module) -> bool:
    is_there = module.use.is_test or os.path.basename(module.filename) == "conftest.py"
    return is_there and (node.name.startswith("test") or _fixture_name(node) is not None)


def _tells_of_tensors(value: Value) -> bool:
    """Numbers and strings do not: a suite may be run on another default device. Those of an array are on the CPU."""
    return value.what.startswith("numpy") if isinstance(value, NonTensor) else not isinstance(value, Unknown)


def _listed(frame: Frame, call: ast.Call) -> Iterator[tuple[str, Value]]:
    """The parameters that `@pytest.mark.parametrize("x, y", ...)` gives their values: no fixture is asked for these."""
    arguments = {keyword.arg: keyword.value for keyword in call.keywords}
    arguments.update(zip(("argnames", "argvalues", "indirect"), call.args, strict=False))
    words = [_text(node) or "" for node in walk(arguments["argnames"])] if "argnames" in arguments else []
    names = [name.strip() for word in words for name in word.split(",") if name.strip()]
    if "argvalues" not in arguments or "indirect" in arguments:  # fixtures may make something else of the values
        yield from ((name, Unknown(Reason.PARAMETER)) for name in names)
        return
    listed = resolve(frame, evaluate(frame, arguments["argvalues"]))
    sets = _counted(listed) or (item_of(frame, listed),)
    for position, name in enumerate(names):
        yield name, join_all(_value_in(frame, each, position, len(names)) for each in sets)


def _value_in(frame: Frame, values: Value, position: int, count: int) -> Value:
    """What one of the values of a set is: of several in a tuple, of one by itself, of any in a `pytest.param`."""
    if isinstance(values, Sequence) and values.fields == PARAMETER_SET:
        values = (_counted(values) or (values,))[0]
    elif count == 1:
        return values
    items = _counted(values)
    return items[position] if len(items) == count else item_of(frame, values)


def _expanded(frame: Frame, call: ast.Call, names: list[str]) -> Iterator[tuple[str, Value]]:
    """The parameters, but for `self`, that `@parameterized.expand([...])` gives their values."""
    given = next(iter(arguments_of(call)), None)
    listed = Unknown(Reason.PARAMETER) if given is None else resolve(frame, evaluate(frame, given))
    sets = _counted(listed) or (item_of(frame, listed),)
    for position, name in enumerate(names):
        yield name, join_all(_argument_in(frame, each, position, name) for each in sets)


def _argument_in(frame: Frame, values: Value, position: int, name: str) -> Value:
    """What one of the arguments of a set is: of a `param(1, x=2)`, a tuple, or one thing by itself."""
    if isinstance(values, LibraryObject) and values.arguments is not None:
        return values.arguments.get(position, name) or Unknown(Reason.PARAMETER)
    if isinstance(values, (Constant, NonTensor)):
        return values if position == 0 else Unknown(Reason.PARAMETER)
    items = _counted(values)
    if not items:
        return item_of(frame, values)
    return items[position] if position < len(items) else Unknown(Reason.PARAMETER)


def _counted(value: Value) -> tuple[Value, ...]:
    return (value.items or ()) if isinstance(value, Sequence) else ()


def _fixtures_in(scope: ast.Module | ast.ClassDef) -> dict[str, FunctionNode]:
    functions = [node for node in scope.body if isinstance(node, FUNCTIONS)]
    return {name: node for node in functions if (name := _fixture_name(node)) is not None}


def _fixture_name(node: FunctionNode) -> str | None:
    """The name under which tests ask for a fixture; None where the function is no fixture."""
    for decorator in node.decorator_list:
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        if last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) == "fixture":
            given = [each.value for each in keywords if each.arg == "name"]
            return next((_text(each) for each in given), node.name)
    return None


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _yields(node: FunctionNode) -> bool:
    expressions = (each for statement in statements_of(node.body) for each in own_expressions(statement))
    return any(isinstance(inner, ast.Yield) for expression in expressions for inner in walk(expression))
