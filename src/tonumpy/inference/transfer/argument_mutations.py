"""From a call of a repository function and an argument to what the function leaves in that argument."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import parameter_names
from tonumpy.inference.index.changes import kept_names, mutated_names
from tonumpy.inference.index.slices import Slicer
from tonumpy.inference.lattice.aliases import without_origins
from tonumpy.inference.lattice.values import Arguments, BoundMethod, Class, Function, Instance, Tensor, Value, mapped
from tonumpy.inference.summaries.budget import MAX_CALL_DEPTH
from tonumpy.inference.transfer.frame import Frame
from tonumpy.inference.transfer.targets import NO_TARGETS
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis

# A place is the position of an argument, or its name.
_MARK = frozenset(("the argument",))


class _Given(NamedTuple):
    """A function of the repository, the object whose method it is, and the parameter that something is given to."""

    function: Function
    receiver: Value | None
    parameter: str


def filled_argument(
    analysis: Analysis, called: Value, arguments: Arguments, place: int | str, grad_mode: Fact
) -> Value | None:
    """What a list or dict that a function of the repository is given is when it returns; None where unchanged."""
    given = _changing(analysis, called, arguments, place)
    return None if given is None else _run(analysis, given, arguments, grad_mode).bound.get(given.parameter)


def changes_grad_of(analysis: Analysis, called: Value, arguments: Arguments, place: int | str, grad_mode: Fact) -> bool:
    """Whether a function of the repository gives a tensor that it is given a grad in place, or takes it away."""
    given = _changing(analysis, called, arguments, place)
    if given is None:
        return False
    marked = _with_mark(without_origins(arguments), place)
    return not _run(analysis, given, marked, grad_mode).regraded.isdisjoint(_MARK)


def may_keep(analysis: Analysis, called: Value, place: int | str) -> bool:
    """Whether a list or dict that somebody is given may be filled later: by a function within the one that is called,
    as a hook is, or by an object that is made of it."""
    given = _given(analysis, called, place)
    if given is None:
        return isinstance(called, Class)  # it has no constructor in sight
    node = given.function.node
    return not isinstance(node, ast.Lambda) and given.parameter in given.function.module.derived(kept_names, node)


def _given(analysis: Analysis, called: Value, place: int | str) -> _Given | None:
    receiver: Value | None = None
    method: Function | None = None
    if isinstance(called, Instance):
        receiver = called
        method = analysis.classes.method(called.cls, "__call__") or analysis.classes.method(called.cls, "forward")
    elif isinstance(called, Class):
        receiver, method = Instance(called), analysis.classes.method(called, "__init__")
    elif isinstance(called, BoundMethod):
        receiver, method = called.receiver, called.function
    function = called if isinstance(called, Function) else method
    if function is None:
        return None
    parameters = parameter_names(function.node.args)
    if isinstance(place, int):
        position = place + (receiver is not None)
        place = parameters[position] if position < len(parameters) else ""
    return _Given(function, receiver, place) if place in parameters else None


def _changing(analysis: Analysis, called: Value, arguments: Arguments, place: int | str) -> _Given | None:
    """A function that may change what it is given, and can be run to see; None for others."""
    given = _given(analysis, called, place)
    if given is None or arguments.has_star:
        return None
    node = given.function.node
    if isinstance(node, ast.Lambda) or given.parameter not in given.function.module.derived(mutated_names, node):
        return None
    if len(analysis.active) >= MAX_CALL_DEPTH:
        analysis.budget.cut()
        return None
    return None if analysis.budget.cuts_short() or _key(given) in analysis.active else given


def _key(given: _Given) -> tuple[object, ...]:
    return id(given.function.node), "fills", given.parameter


def _run(analysis: Analysis, given: _Given, arguments: Arguments, grad_mode: Fact) -> Frame:
    """The body of such a function, run."""
    function, receiver, parameter = given
    node = function.node
    assert not isinstance(node, ast.Lambda)
    slicer = function.module.derived(Slicer, node)
    mode = analysis.decorators.decorated_mode(function, grad_mode)
    asked = slicer.at_end((parameter,))
    frame = Frame(analysis, function.module, slicer.flow, function.owner, function.closure, mode, asked, NO_TARGETS)
    analysis.active.append(_key(given))
    try:
        for name, value in analysis.parameters.bind_arguments(function, receiver, arguments).items():
            frame.bind(name, value)
        frame.evaluator.statements(frame, node.body)
    finally:
        analysis.active.pop()
    return frame


def _with_mark(arguments: Arguments, place: int | str) -> Arguments:
    """The arguments with a mark on the tensor at one place, by which those that are the same, or view it, are known."""
    positional = tuple(
        _marked(value) if position == place else value for position, value in enumerate(arguments.positional)
    )
    named = tuple((name, _marked(value) if name == place else value) for name, value in arguments.named)
    return arguments._replace(positional=positional, named=named)


def _marked(value: Value) -> Value:
    return value._replace(origins=_MARK) if isinstance(value, Tensor) else mapped(value, _marked)
