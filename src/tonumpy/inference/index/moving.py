"""From a function to the parameters that it moves to a device in place, by its text alone."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import parameter_names, read_name
from tonumpy.inference.index.def_use import def_use_of
from tonumpy.inference.index.torch_words import MOVES
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from tonumpy.inference.index.bindings import FunctionNode


def moved_by(function: FunctionNode) -> dict[str, ast.Call]:
    """The parameters that a function moves whatever way is taken in it, `*args` among them, each with the call that
    does so last: `def to_device(device, *nets): return [net.to(device) for net in nets]`."""
    given = function.args
    names = {*parameter_names(given), *([given.vararg.arg] if given.vararg else [])}
    found: dict[str, ast.Call] = {}
    for statement in function.body:
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            over = {read_name(statement.target): read_name(statement.iter)}
            parts: list[ast.stmt] = statement.body
        else:
            over, parts = {}, [statement]
        for part in parts:
            if isinstance(part, (ast.Expr, ast.Return, ast.Assign)) and part.value is not None:
                found.update(_moved_in(part.value, names, over))
    times_bound = def_use_of(function).times_bound if found else {}
    return {name: call for name, call in found.items() if times_bound.get(name) == 1}


def _moved_in(node: ast.expr, names: set[str], over: dict[str | None, str | None]) -> dict[str, ast.Call]:
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1 and not node.generators[0].ifs:
        over = {read_name(node.generators[0].target): read_name(node.generators[0].iter)}
        node = node.elt
    calls = [each for each in walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)]
    found = {}
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        moved = read_name(call.func.value)
        name = over.get(moved, moved)
        if call.func.attr in MOVES and name is not None and name in names and moved is not None:
            found[name] = call
    return found
