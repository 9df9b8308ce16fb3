"""The value that a row of knowledge/libraries promises, for the arguments of a call."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tonumpy.engine.interpreter.devices import cpu_of_device
from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.held_parts import collate, of_owner, prepared
from tonumpy.engine.knowledge.libraries.rows import (
    Promise,
    is_module,
)
from tonumpy.engine.knowledge.operands import combine, promoted, result_facts
from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import is_real
from tonumpy.engine.values.joins import join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    evidence_in,
    have_param_taint,
    max_device_taint,
    members,
    tensor_facts,
    truth_of,
)
from tonumpy.facts import Fact


def device_of(promise: Promise, owner: v.Value | None, arguments: v.Arguments) -> Fact:
    """Whether the promised value is on the CPU."""
    if promise.device in _DEVICES:
        return _DEVICES[promise.device]
    given = arguments.named_value(promise.keyword)
    if given is None and promise.position is not None:
        given = arguments.get(promise.position, promise.keyword)
    if given is not None and given != v.NONE:
        keeps = isinstance(given, v.Function) and isinstance(given.node, ast.Lambda)  # `lambda storage, _: storage`
        return True if keeps else cpu_of_device(given)
    if promise.device in ("argument", "given"):
        return True if promise.device == "argument" and not arguments.has_star else None
    which = _of_parameters(owner, arguments) if promise.device == "parameters" else promise.device
    operands = _operands(which, owner, arguments)
    return None if operands is None else result_facts(operands, None, mixes=promise.returns == ("self",))[0]


_DEVICES: dict[str, Fact] = {
    "cpu": True,
    "accelerator": False,
    **dict.fromkeys(("unknown", "default type", "chosen")),
}


def _of_parameters(owner: v.Value | None, arguments: v.Arguments) -> str:
    """The operands that decide where a module is: itself, or "both" if its inputs may have been moved."""
    values = arguments.all_values()
    was_sent = values is None or any(max_device_taint(members(each)) for each in values)
    return "both" if owner is None or tensor_facts_of(owner)[0] is None or was_sent else "self"


def tensor_facts_of(owner: v.Value) -> tuple[Fact, Fact]:
    """`on_cpu` and `requires_grad` of the tensors in a value, or of a module's parameters."""
    return (owner.on_cpu, owner.requires_grad) if isinstance(owner, v.Instance) else tensor_facts(owner)


def grad_of(promise: Promise, owner: v.Value | None, arguments: v.Arguments, mode: Fact) -> Fact:
    """Whether the promised value requires grad."""
    whether: str = promise.grad
    if whether in ("derived", "some of both"):
        is_derived = whether == "derived"
        promise = promise._replace(grad="self") if is_derived else promise._replace(grad="both")
        return False if grad_of(promise, owner, arguments, True if is_derived else mode) is False else None
    if whether == "own":
        whether, mode = "self", True
    if whether in ("asked", "argument"):
        given = arguments.get(1, "requires_grad")
        if given is None:
            return None if arguments.has_star else whether == "asked"
        return truth_of(given)
    if whether == "never" or mode is False:
        return False
    operands = _operands(whether, owner, arguments)
    return None if operands is None else result_facts(operands, mode, mixes=promise.returns == ("self",))[1]


def _operands(which: str, owner: v.Value | None, arguments: v.Arguments) -> list[v.Value] | None:
    values = () if which == "self" else arguments.all_values()
    if which == "unknown" or values is None:
        return None
    if which == "first":
        return list(arguments.positional[:1]) or None
    told = [value for name, value in arguments.named if name in ("device", "dtype")] if which != "self" else ()
    given = [value for value in values if not any(value is each for each in told)]
    return [*given, owner] if which in ("self", "both") and owner is not None else given


def keep(frame: Frame, promise: Promise, owner: v.Value | None, arguments: v.Arguments) -> v.Value:
    """The value that a row describes, for these arguments."""
    cpu = device_of(promise, owner, arguments)
    if promise.device == "default type":
        cpu = None if frame.module.words.speaks_of_variables else True
    grad = grad_of(promise, owner, arguments, frame.mode)
    evidence = frozenset(each for value in arguments.values() for each in evidence_in(value))
    if isinstance(owner, (v.LibraryObject, v.Instance)):
        evidence |= owner.evidence
    speaking = {"device": bool(cpu), "grad": grad is False, "kind": grad is False}
    tensor = v.Tensor(
        cpu,
        grad,
        _dtype_of(promise, owner, arguments),
        is_number=promise.reduces,
        device_taint=v.DeviceTaint.NONE if cpu is True else _taint_of(promise, owner, arguments),
        evidence=frozenset(each for each in evidence if speaking.get(each.about, False)),
        param_taint=grad is not False and _learns(frame, promise, owner, arguments),
    )
    kept = [_value_of(frame, word, tensor, owner, arguments) for word in promise.returns]
    return kept[0] if len(kept) == 1 else sequence_of(kept)


def _taint_of(promise: Promise, owner: v.Value | None, arguments: v.Arguments) -> v.DeviceTaint:
    if promise.device == "chosen":
        return v.DeviceTaint.CHOSEN
    taint = max_device_taint(arguments.values())
    if isinstance(owner, (v.Instance, v.LibraryObject)) and promise.device in ("self", "both", "parameters"):
        return max(taint, owner.device_taint)
    return taint


def _dtype_of(promise: Promise, owner: v.Value | None, arguments: v.Arguments) -> str | None:
    if promise.dtype == "self":
        return owner.dtype if isinstance(owner, (v.LibraryObject, v.Instance)) else None
    if promise.dtype == "first":
        first = arguments.positional[0] if arguments.positional else None
        return first.dtype if isinstance(first, v.Tensor) else None
    if promise.dtype == "inputs":
        given = arguments.all_values()
        dtype = None if given is None else promoted(given)
        return dtype if is_real(dtype) else None
    return promise.dtype


def _learns(frame: Frame, promise: Promise, owner: v.Value | None, arguments: v.Arguments) -> bool:
    if frame.mode is False and promise.grad != "own":
        return False
    if promise.grad == "own" and promise.returns == ("unknown",):
        return False
    if promise.grad in ("self", "own", "both", "some of both") and owner is not None:
        is_learner = isinstance(owner, v.Instance) and frame.analysis.classes.is_module(owner.cls)
        is_learner = is_learner or (isinstance(owner, v.LibraryObject) and is_module([owner.name]))
        if is_learner and tensor_facts_of(owner)[1] is not False:
            return True
    return have_param_taint(_operands(promise.grad, None, arguments) or [])


def _value_of(frame: Frame, word: str, tensor: v.Tensor, owner: v.Value | None, arguments: v.Arguments) -> v.Value:
    """The value for a word in the `returns` of a row: `mapping`, `tuple:2`."""
    kind, _, detail = word.partition(":")
    given = arguments.positional
    taint = tensor.device_taint
    unknown = v.Unknown(
        Reason.LIBRARY, tensor.on_cpu, tensor.requires_grad, evidence=tensor.evidence, device_taint=taint
    )
    unknown = unknown._replace(param_taint=tensor.param_taint)
    if kind in _SIMPLE:
        return _SIMPLE[kind](tensor, detail)
    if kind == "self" and owner is not None:
        return owner
    if kind == "splits":
        return v.Sequence(None, v.LibraryObject("torch.utils.data.Subset", arguments=arguments))
    if isinstance(owner, v.LibraryObject):
        found = of_owner(frame, kind, detail, tensor, owner, arguments)
        if found is not None:
            return found
    if not given:
        return unknown
    if kind == "recurrent" and isinstance(given[0], v.Tensor):
        return tensor
    if kind in _OF_GIVEN:
        return _OF_GIVEN[kind](frame, given)
    return collate(frame.item(given[0]), unknown, frame.mode) if kind == "collated" else unknown


def _object(tensor: v.Tensor, name: str) -> v.LibraryObject:
    taint = tensor.device_taint
    return v.LibraryObject(name, tensor.on_cpu, tensor.requires_grad, evidence=tensor.evidence, device_taint=taint)


def _prepared(frame: Frame, given: tuple[v.Value, ...]) -> v.Value:
    values = [prepared(frame, each) for each in given]
    return values[0] if len(values) == 1 else sequence_of(values)


def _operation(frame: Frame, given: tuple[v.Value, ...]) -> v.Value:
    return combine([each.element if isinstance(each, v.Sequence) else each for each in given], frame.mode)


def _chained(frame: Frame, given: tuple[v.Value, ...]) -> v.Value:
    return join_all(map(frame.item, given))


_OF_GIVEN: dict[str, Callable[[Frame, tuple[v.Value, ...]], v.Value]] = {
    "first": lambda _, given: given[0],
    "prepared": _prepared,
    "second": lambda _, given: given[1] if len(given) > 1 else v.Unknown(Reason.LIBRARY),
    "operation": _operation,
    "item": lambda frame, given: frame.item(given[0]),
    "iterator": lambda frame, given: v.Sequence(None, frame.item(given[0])),
    "chain": lambda frame, given: v.Sequence(None, _chained(frame, given)),
    "flattened": lambda frame, given: v.Sequence(None, frame.item(_chained(frame, given))),
    "tuples": lambda frame, given: v.Sequence(None, sequence_of(list(map(frame.item, given)))),
}


_SIMPLE: dict[str, Callable[[v.Tensor, str], v.Value]] = {
    "object": _object,
    "sequence": lambda tensor, detail: v.Sequence(None, _object(tensor, detail) if detail else tensor),
    "saved": lambda tensor, _: v.Unknown(Reason.SAVED, tensor.on_cpu, evidence=tensor.evidence),
    "tensor": lambda tensor, _: tensor,
    "optionals": lambda tensor, _: v.Sequence(None, join_all((tensor, v.NONE))),
    "tuple": lambda tensor, detail: v.Sequence((tensor,) * int(detail), tensor),
    "mapping": lambda tensor, _: v.Mapping((), tensor),
    "pairs": lambda tensor, _: v.Sequence(None, v.Sequence((v.NonTensor("str"), tensor), tensor)),
    "plain": lambda _, detail: v.NonTensor(detail or "library value"),
    "none": lambda *_: v.NONE,
    "nothing": lambda *_: v.NOTHING,
    "device": lambda tensor, _: v.Device(tensor.on_cpu, device_taint=v.DeviceTaint(0 if tensor.on_cpu else 2)),
    "foreign": lambda _, detail: v.OtherFramework(detail),
}
