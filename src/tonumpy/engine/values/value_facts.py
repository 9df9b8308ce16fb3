"""Queries and updates of values: their facts, evidence and parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import choice_of, choices, is_choice, is_dtype_name
from tonumpy.engine.values.evidence import PROVED, AllEvidence, Aspect, Basis, joined, without
from tonumpy.facts import Certainty, Fact

_Fresh = TypeVar("_Fresh", v.Tensor, v.Unknown, v.Tensor | v.Unknown)
_CERTAINTIES: tuple[Certainty, ...] = ("tensor", "likely", "possible")


def weaker(first: Certainty, second: Certainty) -> Certainty:
    return max(first, second, key=_CERTAINTIES.index)


def stronger(first: Certainty, second: Certainty) -> Certainty:
    return min(first, second, key=_CERTAINTIES.index)


def join_fact(first: Fact, second: Fact) -> Fact:
    return first if first is second else None


def join_facts(pairs: Sequence[tuple[Fact, Fact]]) -> tuple[Fact, Fact]:
    """The join of one or more pairs of `on_cpu` and `requires_grad`."""
    cpu, grad = pairs[0]
    for other_cpu, other_grad in pairs[1:]:
        cpu, grad = join_fact(cpu, other_cpu), join_fact(grad, other_grad)
    return cpu, grad


def max_device_taint(values: Iterable[v.Value]) -> v.DeviceTaint:
    """The greatest device taint of the tensors among some values."""
    return max(
        (value.device_taint for value in values if isinstance(value, (v.Tensor, v.Unknown))), default=v.DeviceTaint.NONE
    )


def have_param_taint(values: Iterable[v.Value]) -> bool:
    """True if a tensor among the values requires grad, or is computed from parameters on some path."""
    return any(map(_has_param_taint, tensors_in(values)))


def tensors_in(values: Iterable[v.Value]) -> Iterator[v.Tensor | v.Unknown]:
    """The tensors and unknown values among some values and their parts."""
    return (each for each in held_in(*values) if isinstance(each, (v.Tensor, v.Unknown)))


def _has_param_taint(value: v.Tensor | v.Unknown) -> bool:
    return bool(value.requires_grad or (value.param_taint and value.requires_grad is None))


def members(value: v.Value) -> tuple[v.Value, ...]:
    """The members of a union; of any other value, itself."""
    return value.members if isinstance(value, v.Union) else (value,)


def may_be(value: v.Value, kinds: type | tuple[type, ...]) -> bool:
    """True if the value, or a member of it, is of one of these kinds."""
    return any(isinstance(member, kinds) for member in members(value))


def truth_of(value: v.Value) -> Fact:
    """The boolean of a literal True or False; None for any other value."""
    return value.value if isinstance(value, v.Constant) and isinstance(value.value, bool) else None


def dtype_of(value: v.Value | None) -> str | None:
    """The name of a dtype argument: "long" for `torch.long`, a choice for a union; None if unknown."""
    if isinstance(value, v.Symbol):
        name = value.name.rpartition(".")[2]
        return name if is_dtype_name(name) else None
    if isinstance(value, v.Union):
        parts = [dtype_of(each) for each in value.members]
        return choice_of(parts) if all(map(_is_of_dtype, value.members, parts)) else None
    return None


def _is_of_dtype(value: v.Value, known: str | None) -> bool:
    return known is not None or value == v.NONE or isinstance(value, v.Unknown) or value == v.NonTensor("dtype")


def of_dtype(dtype: str | None) -> v.Value:
    """The value of `x.dtype` for a dtype name; the inverse of `dtype_of`."""
    if is_choice(dtype):
        return v.Union(tuple(map(of_dtype, choices(dtype))))
    return v.Symbol(f"torch.{dtype}") if dtype is not None and is_dtype_name(dtype) else v.NonTensor("dtype")


def tensor_facts(value: v.Value) -> tuple[Fact, Fact]:
    """`on_cpu` and `requires_grad` of the tensors in a value; (True, False) for values without tensors."""
    if isinstance(value, (v.Tensor, v.Unknown, v.LibraryObject)):
        return value.on_cpu, value.requires_grad
    if isinstance(value, v.Sequence):
        return tensor_facts(value.element)
    if isinstance(value, v.Mapping):
        return joined_facts(value.values())
    if isinstance(value, v.Union):
        return joined_facts(value.members)
    if isinstance(value, (v.Instance, v.Class, v.Function, v.BoundMethod, v.ModuleValue)):
        return None, None
    return True, False


def evidence_in(value: v.Value) -> AllEvidence:
    """The evidence for the facts that `tensor_facts` returns."""
    if isinstance(value, (v.Tensor, v.Unknown, v.LibraryObject, v.Instance)):
        return value.evidence
    if isinstance(value, v.Sequence):
        return evidence_in(value.element)
    return joined(map(evidence_in, parts_of(value))) if isinstance(value, (v.Mapping, v.Union)) else PROVED


def resting_on(value: v.Value, evidence: AllEvidence) -> v.Value:
    """The value with evidence added to each tensor in it."""
    if not evidence:
        return value
    if isinstance(value, (v.Tensor, v.Unknown, v.LibraryObject, v.Instance)):
        return value if evidence <= value.evidence else value._replace(evidence=value.evidence | evidence)
    return mapped(value, lambda part: resting_on(part, evidence))


def left_open(value: v.Value, evidence: AllEvidence) -> v.Value:
    """The value with evidence, of a limit, added to the unknown facts of the tensors in it."""
    if isinstance(value, (v.Tensor, v.Unknown)):
        known = {"device": value.on_cpu, "grad": value.requires_grad}
        return resting_on(value, frozenset(each for each in evidence if known.get(each.about) is None))
    return mapped(value, lambda part: left_open(part, evidence))


def believed(value: _Fresh, basis: Basis | None, *, on_cpu: Fact = None, requires_grad: Fact = None) -> _Fresh:
    """The value with these facts where they were unknown, resting on the habit; unchanged if `basis` is None."""
    if basis is None:
        return value
    aspects: list[Aspect] = []
    cpu, grad = value.on_cpu, value.requires_grad
    if cpu is None and on_cpu is not None:
        cpu = on_cpu
        aspects.append("device")
    if grad is None and requires_grad is not None:
        grad = requires_grad
        aspects.append("grad")
    return (
        value._replace(on_cpu=cpu, requires_grad=grad, evidence=value.evidence | basis.about(*aspects))
        if aspects
        else value
    )


def joined_facts(values: Iterable[v.Value]) -> tuple[Fact, Fact]:
    others = (v.Nothing, v.NonTensor, v.Constant, v.OtherFramework, v.Device, v.Symbol)
    return join_facts([(True, False), *(tensor_facts(value) for value in values if not isinstance(value, others))])


def with_facts(value: v.Value, on_cpu: Fact = None, requires_grad: Fact = None) -> v.Value:
    """The value with proved facts for the tensors in it; None leaves a fact as it was."""
    if isinstance(value, (v.Tensor, v.Unknown, v.LibraryObject)):
        evidence = value.evidence if on_cpu is None else without(value.evidence, "device")
        return value._replace(
            on_cpu=value.on_cpu if on_cpu is None else on_cpu,
            requires_grad=value.requires_grad if requires_grad is None else requires_grad,
            evidence=evidence if requires_grad is None else without(evidence, "grad"),
        )
    if isinstance(value, v.Sequence):
        items = None if value.items is None else tuple(with_facts(item, on_cpu, requires_grad) for item in value.items)
        return v.Sequence(items, with_facts(value.element, on_cpu, requires_grad))
    if isinstance(value, v.Mapping):
        entries = tuple((key, with_facts(entry, on_cpu, requires_grad)) for key, entry in value.entries)
        return v.Mapping(entries, with_facts(value.other, on_cpu, requires_grad))
    if isinstance(value, v.Union):
        return v.Union(tuple(with_facts(member, on_cpu, requires_grad) for member in value.members))
    return value


def with_facts_of(value: v.Value, known: v.Tensor | v.Unknown | v.LibraryObject | v.Instance) -> v.Value:
    """The value with the facts, taints and evidence of `known` for the tensors in it."""
    value = with_facts(value, *tensor_facts(known))
    if isinstance(known, (v.Tensor, v.Unknown)):
        value = with_evidence(value, known.device_taint, known.param_taint)
    return resting_on(value, known.evidence)


def with_evidence(value: v.Value, device_taint: v.DeviceTaint, param_taint: bool) -> v.Value:
    """The value, with device and parameter taint added to the tensors in it."""
    if not device_taint and not param_taint:
        return value
    if isinstance(value, (v.Tensor, v.Unknown)):
        return value._replace(
            device_taint=max(value.device_taint, device_taint), param_taint=value.param_taint or param_taint
        )
    return mapped(value, lambda part: with_evidence(part, device_taint, param_taint))


def held_in(*values: v.Value) -> Iterator[v.Value]:
    """The values and, recursively, the parts of containers and the constructor arguments of library objects."""
    waiting = list(values)
    seen: set[int] = set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        if isinstance(each, v.LibraryObject):
            waiting.extend(() if each.arguments is None else each.arguments.values())
        elif isinstance(each, (v.Sequence, v.Mapping, v.Union)):
            waiting.extend(parts_of(each))


def parts_of(value: v.Sequence | v.Mapping | v.Union) -> tuple[v.Value, ...]:
    """The values that a container or union holds."""
    if isinstance(value, v.Sequence):
        return (value.element, *(value.items or ()))
    return value.values() if isinstance(value, v.Mapping) else value.members


def mapped(value: v.Value, change: Callable[[v.Value], v.Value]) -> v.Value:
    """A container or union with each part changed; itself where all parts stay the same."""
    if not isinstance(value, (v.Sequence, v.Mapping, v.Union)):
        return value
    parts = parts_of(value)
    done: dict[int, v.Value] = {}  # an object that is held twice stays one object
    for part in parts:
        if id(part) not in done:
            done[id(part)] = change(part)
    ids = list(map(id, parts))
    changed = tuple(map(done.__getitem__, ids))
    if list(map(id, changed)) == ids:
        return value
    if isinstance(value, v.Sequence):
        return v.Sequence(None if value.items is None else changed[1:], changed[0], value.fields)
    if isinstance(value, v.Mapping):
        entries = tuple((key, new) for (key, _), new in zip(value.entries, changed, strict=False))
        return v.Mapping(entries, changed[-1])
    return v.Union(changed)
