"""What an object of the repository holds once a method has put something into its attributes that may raise."""

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
    Tensor,
    Union,
    Unknown,
    Value,
    held_in,
    mapped,
    members,
)
from tonumpy.inference.transfer.frame import MAX_DEPTH, Frame
from tonumpy.inference.transfer.targets import NO_TARGETS
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def after_call(frame: Frame, receiver: Value, method: str, arguments: Arguments) -> Value:
    """An object, one of several, or a container of such, after `receiver.method(arguments)`; itself where that changes
    nothing of interest."""
    if isinstance(receiver, Union):
        return mapped(receiver, lambda member: after_call(frame, member, method, arguments))
    if not isinstance(receiver, Instance) or arguments.has_star or not arguments.values():
        return receiver
    analysis = frame.analysis
    written = analysis.classes.written_by(receiver.cls, method)
    if not written or analysis.kinds.is_module(receiver.cls):
        return receiver
    is_harmless = not _may_raise(arguments.values())
    if is_harmless and any(each.requires_grad is not False for each in _tensors_in(arguments.values())):
        return receiver
    if is_harmless:
        nothing: tuple[tuple[str, Value], ...] = tuple((name, NOTHING) for name in sorted(written))
        return receiver._replace(received=joined_received(receiver.received, nothing))
    function = analysis.classes.method(receiver.cls, method)
    if function is None or isinstance(function.node, ast.Lambda):
        return receiver
    key = (id(function.node), "receives")
    if key in analysis.active or analysis.budget.cuts_short() or len(analysis.active) >= MAX_DEPTH:
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
        if _may_raise((left,)):
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
    return mapped(value, lambda part: _emptied(part, None)) if isinstance(value, (Mapping, Union)) else value


def _may_raise(values: Iterable[Value]) -> bool:
    """Whether a tensor among some values requires grad or is on an accelerator, as something in sight has it."""
    return any(
        each.requires_grad or each.on_cpu is False or each.sent or (each.learns and each.requires_grad is None)
        for each in _tensors_in(values)
    )


def _tensors_in(values: Iterable[Value]) -> Iterator[Tensor | Unknown]:
    return (each for each in held_in(*values) if isinstance(each, (Tensor, Unknown)))


def receivers_in(value: Value) -> Iterator[Instance]:
    """The objects of the repository that it is, or that it holds as a list or dict of such."""
    for member in members(value):
        if isinstance(member, Instance):
            yield member
        elif isinstance(member, Sequence):
            yield from (each for each in members(member.element) if isinstance(each, Instance))
        elif isinstance(member, Mapping):
            held = (part for each in member.values() for part in members(each))
            yield from (each for each in held if isinstance(each, Instance))
