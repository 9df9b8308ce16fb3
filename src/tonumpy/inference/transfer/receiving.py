"""From an object and a call of one of its methods to the risky values that its attributes then hold."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import parameter_names
from tonumpy.inference.index.slices import Slicer
from tonumpy.inference.lattice.aliases import without_origins
from tonumpy.inference.lattice.joins import joined_received
from tonumpy.inference.lattice.values import (
    NOTHING,
    Arguments,
    Function,
    Instance,
    Mapping,
    Sequence,
    Union,
    Unknown,
    Value,
    mapped,
    may_raise,
    tensors_in,
)
from tonumpy.inference.summaries.budget import MAX_CALL_DEPTH
from tonumpy.inference.transfer.frame import Frame
from tonumpy.inference.transfer.targets import NO_TARGETS
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def after_call(frame: Frame, receiver: Instance, method: str, arguments: Arguments) -> Instance:
    """An object after `receiver.method(arguments)`; itself where that changes nothing of interest."""
    given = arguments.values()
    if arguments.has_star or not given:
        return receiver
    analysis = frame.analysis
    written = analysis.classes.written_by(receiver.cls, method)
    if not written or analysis.kinds.is_module(receiver.cls):
        return receiver
    if not may_raise(given):
        if any(each.requires_grad is not False for each in tensors_in(given)):
            return receiver
        nothing: tuple[tuple[str, Value], ...] = tuple((name, NOTHING) for name in sorted(written))
        return receiver._replace(received=joined_received(receiver.received, nothing))
    function = analysis.classes.method(receiver.cls, method)
    if function is None or isinstance(function.node, ast.Lambda):
        return receiver
    key = (id(function.node), "receives")
    if key in analysis.active or analysis.budget.cuts_short() or len(analysis.active) >= MAX_CALL_DEPTH:
        return receiver
    analysis.active.append(key)
    try:
        left = _left(frame, function, receiver, written, without_origins(arguments))
    finally:
        analysis.active.pop()
    return receiver._replace(received=joined_received(receiver.received, left)) if left else receiver


def _left(
    frame: Frame, function: Function, receiver: Instance, written: Iterable[str], arguments: Arguments
) -> tuple[tuple[str, Value], ...]:
    """What the method leaves in the attributes that it writes, as far as that may raise."""
    node, analysis = function.node, frame.analysis
    assert not isinstance(node, ast.Lambda)
    own = next(iter(parameter_names(node.args)), "self")
    paths = {f"{own}.{name}": name for name in sorted(written)}
    slicer = function.module.derived(Slicer, node)
    mode = analysis.decorators.decorated_mode(function, frame.grad_mode)
    inner = Frame(
        analysis, function.module, slicer.flow, function.owner, function.closure, mode, slicer.at_end(paths), NO_TARGETS
    )
    for name, value in analysis.parameters.bind_arguments(function, receiver, arguments).items():
        inner.bind(name, value)
    for path, name in paths.items():
        inner.bind(path, _emptied(analysis.attributes.attribute(receiver, name), dict(receiver.received).get(name)))
    inner.evaluator.statements(inner, node.body)
    found: dict[str, Value] = {}
    for path, name in paths.items():
        left = inner.bound.get(path, NOTHING)
        if may_raise((left,)):
            found[name] = left
    itself = inner.env.get(own)
    received = itself.received if isinstance(itself, Instance) else ()
    return joined_received(tuple(sorted(found.items())), received)


def _emptied(value: Value, received: Value | None) -> Value:
    """What a method finds in an attribute: what that has received in sight, nothing that others may have put there."""
    if received is not None:
        return received
    if isinstance(value, Sequence):
        return Sequence((), NOTHING)
    return mapped(value, _emptied_part) if isinstance(value, (Mapping, Union)) else value


def _emptied_part(value: Value) -> Value:
    return NOTHING if isinstance(value, Unknown) else _emptied(value, None)
