"""From a call of a repository function and an argument to whether the function may change that argument."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.operands import result_facts
from tonumpy.engine.names.bindings import parameter_names
from tonumpy.engine.names.changes import kept_names, mutated_names, written_names
from tonumpy.engine.values.values import Arguments, BoundMethod, Class, Function, Instance, Value

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis

# A place is the position of an argument, or its name.


def may_change(analysis: Analysis, called: Value, place: int | str) -> bool:
    """Whether a list or dict that somebody is given may be changed: by the function that is called, later by one within
    it, as a hook is, or by an object that is made of it."""
    given = _given(analysis, called, place)
    if given is None:
        return isinstance(called, Class)  # it has no constructor in sight
    function, parameter = given
    node = function.node
    if isinstance(node, ast.Lambda):
        return False
    derived = function.module.derived
    return parameter in derived(mutated_names, node) or parameter in derived(kept_names, node)


def may_change_grad(analysis: Analysis, called: Value, arguments: Arguments, place: int | str, grad_mode: Fact) -> bool:
    """Whether a function of the repository may give a tensor that it is given a grad in place, or take it away."""
    given = _given(analysis, called, place)
    if given is None or isinstance(given[0].node, ast.Lambda):
        return False
    (function, parameter), node = given, given[0].node
    may_thaw = function.module.words.may_thaw
    if parameter not in function.module.derived(mutated_names if may_thaw else written_names, node):
        return False
    # What is written without grad leaves it as it was. All arguments are looked at, so this comes last.
    return may_thaw or (
        grad_mode is not False
        and (
            not isinstance(called, Function)
            or arguments.has_star
            or result_facts(arguments.values(), True)[1] is not False
        )
    )


def _given(analysis: Analysis, called: Value, place: int | str) -> tuple[Function, str] | None:
    """The function of the repository that is run, and the parameter that something is given to."""
    is_bound = not isinstance(called, Function)
    function: Function | None = None
    if isinstance(called, Function):
        function = called
    elif isinstance(called, Instance):
        function = analysis.classes.method(called.cls, "__call__") or analysis.classes.method(called.cls, "forward")
    elif isinstance(called, Class):
        function = analysis.classes.method(called, "__init__")
    elif isinstance(called, BoundMethod):
        function = called.function
    if function is None:
        return None
    parameters = parameter_names(function.node.args)
    if isinstance(place, int):
        position = place + is_bound
        place = parameters[position] if position < len(parameters) else ""
    return (function, place) if place in parameters else None
