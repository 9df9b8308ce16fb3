"""The result of a torch operator: kind, device, grad and dtype by its operands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, Literal, NamedTuple

from tonumpy.engine.knowledge.arrays import of_arithmetic
from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import is_complex, is_integral
from tonumpy.engine.values.evidence import PROVED, AllEvidence, Evidence, Strength, joined, of_open, only, without
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.reasons import GIVEN, Reason
from tonumpy.engine.values.value_facts import (
    evidence_in,
    have_param_taint,
    held_in,
    max_device_taint,
    members,
    stronger,
    tensor_facts,
)
from tonumpy.facts import Fact


def combine(operands: Iterable[v.Value], grad_mode: Fact) -> v.Value:
    """The result of arithmetic on the operands: a tensor if one of them is, on their device, with their grad."""
    parts = list(operands)
    for index, part in enumerate(parts):
        if isinstance(part, v.Union):
            given = (member for member in part.members if member != v.NONE)
            return join_all(combine([*parts[:index], each, *parts[index + 1 :]], grad_mode) for each in given)
    if absent := [part for part in parts if isinstance(part, v.Nothing)]:
        return absent[0]
    if any(isinstance(part, v.Tensor) for part in parts):
        return _tensor_of(parts, grad_mode)
    return _of_no_tensors(parts, grad_mode)


def _of_no_tensors(parts: list[v.Value], grad_mode: Fact) -> v.Value:
    if foreign := [part for part in parts if isinstance(part, v.OtherFramework)]:
        return foreign[0]
    if all(map(v.is_number, parts)):
        return v.NonTensor("number")
    if all(isinstance(part, (v.NonTensor, v.Constant, v.Symbol, v.Sequence, v.Mapping, v.Device)) for part in parts):
        return v.NonTensor("number or array", of_arithmetic(parts))
    unknown = [part for part in parts if isinstance(part, v.Unknown)]
    is_no_tensor = bool(unknown) and all(part.is_no_tensor for part in unknown)
    reason = unknown[0].reason if unknown else Reason.OPERATION
    cpu, grad = result_facts(parts, grad_mode)
    taints = _taints(cpu, grad, unknown, parts)
    return v.Unknown(reason, cpu, grad, is_no_tensor, rests_on(parts, cpu, grad, grad_mode, None), *taints)


def _tensor_of(parts: list[v.Value], grad_mode: Fact) -> v.Tensor:
    tensors = [part for part in parts if isinstance(part, v.Tensor)]
    cpu, grad = result_facts(parts, grad_mode)
    device_taint, param_taint = _taints(cpu, grad, tensors, parts)
    dtype = promoted(parts)
    return v.Tensor(
        cpu,
        grad,
        dtype,
        reduce(stronger, (tensor.certainty for tensor in tensors)),
        is_number=are_numbers(parts),
        dimensions=_dimensions_of(parts),
        device_taint=device_taint,
        is_given=are_given(parts),
        evidence=rests_on(parts, cpu, grad, grad_mode, dtype),
        param_taint=param_taint,
    )


def _taints(cpu: Fact, grad: Fact, moved: Iterable[v.Value], parts: Sequence[v.Value]) -> tuple[v.DeviceTaint, bool]:
    device_taint = v.DeviceTaint.NONE if cpu is True else max_device_taint(moved)
    return device_taint, grad is not False and have_param_taint(parts)


# See `result_facts`; it is called for too many values to pass a place.
_COMPANY = frozenset((Evidence(Strength.HABIT, "grad", "company-of-data", "combined with data", "", 0),))


def rests_on(operands: Sequence[v.Value], cpu: Fact, grad: Fact, grad_mode: Fact, dtype: str | None) -> AllEvidence:
    """The evidence for a result: the operands' evidence for known facts, and their limits and origins for unknown ones.
    `dtype` is the result's if the operands decide it.
    """
    evidence = joined(map(evidence_in, operands))
    parts = (part for each in operands for part in members(each))
    if grad is False and grad_mode is not False and any(map(_is_obscure, parts)):
        evidence |= _COMPANY
    if not evidence:
        return PROVED
    if cpu is None:
        evidence = without(evidence, "device") | only(of_open(evidence), "device")
    if dtype is None:
        evidence = without(evidence, "dtype")
    if grad is None:
        return without(evidence, "grad") | only(of_open(evidence), "grad")
    return without(evidence, "grad") if grad is False and grad_mode is False else evidence


_NO_OPERANDS = ("bool", "str", "Size", "dtype")  # arguments of functions, but never operands of arithmetic


def promoted(operands: Iterable[v.Value]) -> str | None:
    """The dtype of the result: complex if an operand is, else the common dtype of the floating point operands.
    Integers and Python numbers do not count. None if the dtypes differ or one is unknown.
    """
    dtypes: set[str | None] = set()
    for each in held_in(*operands):
        if isinstance(each, v.Tensor):
            dtypes.add(each.dtype)
        elif isinstance(each, v.Constant):
            dtypes.add("complex" if isinstance(each.value, complex) else "integral")
        elif isinstance(each, v.NonTensor):
            dtypes.add("integral" if v.is_number(each) or each.what in _NO_OPERANDS else None)
        elif isinstance(each, v.Unknown):
            dtypes.add("integral" if each.is_no_tensor else None)
        elif not isinstance(each, (v.Symbol, v.Device, v.Sequence, v.Mapping, v.Union, v.Nothing)):
            dtypes.add(None)
    dtypes = {dtype for dtype in dtypes if not is_integral(dtype)}
    if len(dtypes) == 1:
        return dtypes.pop()
    return "complex" if any(map(is_complex, dtypes)) else None


def result_facts(operands: Sequence[v.Value], grad_mode: Fact, *, mixes: bool = False) -> tuple[Fact, Fact]:
    """The facts of a result: whether it is on the CPU, and whether it requires grad.

    torch's operators refuse operands on different devices, so one CPU operand decides; a tensor without dimensions does
    not, as it mixes with any device. `mixes`: the result is a container of the operands, so all must agree.
    """
    known = list(_known_of(operands))
    cpus = [each.on_cpu for each in known]
    if mixes:
        return _common(cpus or [True]), _common([each.requires_grad for each in known] or [False])
    is_led = any(each.leads for each in known)
    cpu = False if False in cpus else is_led or _common(cpus or [True])
    return cpu, _grad_of(known, operands, grad_mode)


def _grad_of(known: list[_Known], operands: Sequence[v.Value], grad_mode: Fact) -> Fact:
    # the habit company-of-data: an unknown operand beside data on the CPU is data too
    is_data = any(each.leads and each.requires_grad is False and not is_integral(each.value.dtype) for each in known)
    grads = [each.requires_grad for each in known if not (is_data and _is_obscure(each.value))]
    if grad_mode is False or all(each is False for each in grads) or _is_integer_arithmetic(operands):
        return False
    return True if grad_mode is True and True in grads else None


class _Known(NamedTuple):
    """A possible value of an operand with its facts; `leads`: it is a CPU tensor, which decides the result's device."""

    value: Any
    on_cpu: Fact
    requires_grad: Fact
    leads: bool


_WITHOUT_FACTS = (v.NonTensor, v.Constant, v.Symbol, v.Device, v.OtherFramework, v.Nothing)


def _known_of(operands: Iterable[v.Value]) -> Iterator[_Known]:
    """Yield the possible values of each operand, or of its items for a list. For members of a union, "off the CPU" and
    "requires grad" become unknown, as another member may hold."""
    waiting = list(operands)
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, v.Sequence) and operand.items:
            waiting.extend(operand.items)
            continue
        parts = [each for each in members(operand) if each != v.NONE and not getattr(each, "is_no_tensor", False)]
        for value in parts:
            if isinstance(value, _WITHOUT_FACTS):
                continue
            cpu, grad = (value.on_cpu, value.requires_grad) if isinstance(value, v.Instance) else tensor_facts(value)
            if len(parts) == 1:
                speaks = isinstance(value, v.Tensor) and cpu is True and not value.is_number
                yield _Known(value, cpu, grad, speaks)
            else:
                yield _Known(value, cpu or None, None if grad else grad, False)


def _common(facts: list[Fact]) -> Fact:
    return facts[0] if len(set(facts)) == 1 else None


def _is_obscure(value: v.Value) -> bool:
    """True for a parameter or attribute without facts, to which the habit company-of-data applies; not for a result."""
    return tensor_facts(value) == (None, None) and are_given((value,))


def are_given(operands: Sequence[v.Value]) -> bool:
    """True if the operands are nothing but data, and parameters or attributes."""
    for operand in operands:
        if isinstance(operand, v.Sequence) and operand.items:
            if not are_given(operand.items):
                return False
            continue
        for value in members(operand):
            if isinstance(value, v.Tensor):
                is_given = value.is_given or value.requires_grad is False
            elif isinstance(value, v.Unknown):
                is_given = value.reason in GIVEN or value.requires_grad is False
            else:
                is_given = isinstance(value, (v.NonTensor, v.Constant, v.Symbol, v.Device))
            if not is_given:
                return False
    return True


def _dimensions_of(operands: Sequence[v.Value]) -> Literal[0] | None:
    """0 if all operands of an elementwise operator are numbers or tensors without dimensions, else None."""
    have_none = all(each.dimensions == 0 if isinstance(each, v.Tensor) else v.is_number(each) for each in operands)
    return 0 if have_none else None


def are_numbers(operands: Sequence[v.Value]) -> bool:
    """True if there are tensors among the operands and none of them has dimensions, so that the result has none."""
    found = [value for operand in operands for value in members(operand)]
    tensors = [value for value in found if isinstance(value, (v.Tensor, v.Unknown, v.Sequence))]
    return bool(tensors) and all(isinstance(tensor, v.Tensor) and tensor.is_number for tensor in tensors)


def _is_integer_arithmetic(operands: Sequence[v.Value]) -> bool:
    """True if all tensors among the operands are integral: `indices + self.offset`.
    An unknown operand counts as a number, but a layer does not: it has parameters.
    """
    values = [value for operand in operands for value in members(operand)]
    tensors = [value for value in values if isinstance(value, v.Tensor)]
    has_layer = any(isinstance(value, v.LibraryObject) for value in values)
    return bool(tensors) and not has_layer and all(is_integral(tensor.dtype) for tensor in tensors)
