"""The values that pytest passes to tests: results of fixtures, and the values in `parametrize`."""

from __future__ import annotations

import ast

from tonumpy.engine.names.bindings import decorator_names, parameter_names
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.shared import Analysis
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join_all, sequence_of
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS

_MAX_FIXTURES = 3  # depth of fixtures that use each other


def given_by_pytest(analysis: Analysis, function: v.Function, depth: int = 0) -> dict[str, v.Value]:
    """The known parameters of a test or fixture; {} for other functions."""
    node, module = function.node, function.module
    if isinstance(node, ast.Lambda) or not (module.use.holds_tests or depth):
        return {}
    if not node.name.startswith("test") and "fixture" not in decorator_names(node):
        return {}
    found = _listed(analysis, function)
    for name in parameter_names(node.args):
        fixture = None if name in found or depth >= _MAX_FIXTURES else _fixture(module, name)
        if fixture is not None:
            found[name] = _made_by(analysis, fixture, depth)
    return found


def _fixture(module: Module, name: str) -> v.Function | None:
    for place in (module, *module.conftests):
        for bound in place.names.bindings.get(name, ()):
            if isinstance(bound, FUNCTIONS) and "fixture" in decorator_names(bound):
                return v.Function(bound, place, None)
    return None


def _made_by(analysis: Analysis, fixture: v.Function, depth: int) -> v.Value:
    frame = analysis.module_frame(fixture.module)
    given = given_by_pytest(analysis, fixture, depth + 1)
    for decorator in getattr(fixture.node, "decorator_list", ()):
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "params":
                item = frame.item(frame.value(keyword.value))
                given["request"] = v.Sequence((item,), item, ("param",))
    made = analysis.enter(frame, fixture, None, v.Arguments((), tuple(given.items())))
    is_generator = any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(fixture.node))
    return frame.item(made) if is_generator else made


def _listed(analysis: Analysis, function: v.Function) -> dict[str, v.Value]:
    """The parameters by `@pytest.mark.parametrize("x, y", [(1, 2), (3, 4)])` at the test or its class."""
    frame = analysis.module_frame(function.module)
    found: dict[str, v.Value] = {}
    around = () if function.owner is None else function.owner.node.decorator_list
    for decorator in (*around, *getattr(function.node, "decorator_list", ())):
        if not isinstance(decorator, ast.Call) or last_name(decorator.func) != "parametrize" or len(decorator.args) < 2:
            continue
        named, rows = map(frame.value, decorator.args[:2])
        names = _names_in(named)
        items = rows.items if isinstance(rows, v.Sequence) and rows.items is not None else (frame.item(rows),)
        for place, name in enumerate(names):
            rows_of = map(_row, items)
            found[name] = join_all(_cell(frame.item, each, place) if len(names) > 1 else each for each in rows_of)
    return found


def _names_in(value: v.Value) -> list[str]:
    """The names `x` and `y` in "x, y" or ["x", "y"]."""
    parts = value.items or () if isinstance(value, v.Sequence) else (value,)
    words = (str(each.value) for each in parts if isinstance(each, v.Constant))
    return [word.strip() for each in words for word in each.split(",")]


def _row(item: v.Value) -> v.Value:
    """The values of one test, unwrapped from `pytest.param(...)`."""
    if not isinstance(item, v.LibraryObject) or item.name != "pytest.param" or item.arguments is None:
        return item
    values = item.arguments.positional
    return values[0] if len(values) == 1 else sequence_of(values)


def _cell(item: object, row: v.Value, place: int) -> v.Value:
    if isinstance(row, v.Sequence) and row.items is not None and place < len(row.items):
        return row.items[place]
    return item(row)  # type: ignore[operator, no-any-return]
