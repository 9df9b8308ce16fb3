"""From a function to the class of another file that it is handed to and that calls it with what is on the CPU."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import arguments_of, given_to, parameter_names
from tonumpy.inference.index.moved_callbacks import called_on_cpu
from tonumpy.inference.index.references import is_named_again, places_that_name
from tonumpy.inference.lattice.values import Class, Function
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.index.references import Reference
    from tonumpy.inference.summaries.analysis import Analysis


def taker_on_cpu(analysis: Analysis, function: Function) -> str | None:
    """The name of such a class; None where the function is called by its name, or handed to anything else."""
    node, module = function.node, function.module
    if isinstance(node, ast.Lambda) or _is_method(function) or node.decorator_list:
        return None
    if not is_named_again(module, node.name):
        return None
    takers = {
        _taker(analysis, function, each)
        for each in places_that_name(module, node.name)
        if not each.is_attribute and node not in each.scopes
    }
    return takers.pop() if len(takers) == 1 else None


def _is_method(function: Function) -> bool:
    return function.owner is not None and function.node in function.owner.node.body


def _taker(analysis: Analysis, function: Function, place: Reference) -> str | None:
    call = place.passed_to
    if call is None or not isinstance(call.func, (ast.Name, ast.Attribute)):
        return None
    taker = evaluate(analysis.module_scope(function.module), call.func)
    if not isinstance(taker, Class) or taker.module is function.module:
        return None
    made = analysis.classes.method(taker, "__init__")
    if made is None or made.owner is None:
        return None
    owner, given = made.owner, given_to(parameter_names(made.node.args)[1:], call, arguments_of(call))
    is_called = owner.module.derived_in(called_on_cpu, owner.node, "").__contains__
    return taker.node.name if any(value is place.node and is_called(name) for name, value in given.items()) else None
