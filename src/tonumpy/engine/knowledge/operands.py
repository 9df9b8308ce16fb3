"""From the operands of one torch operator to the result's kind, device, grad and dtype."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Items
from functools import reduce
from typing import Literal

from tonumpy.engine.knowledge.arrays import of_arithmetic
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
from tonumpy.engine.values.values import (
    NONE,
    Constant,
    Device,
    DeviceTaint,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Nothing,
    OtherFramework,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
    is_number,
)
from tonumpy.facts import Fact


def combine(operands: Iterable[Value], grad_mode: Fact) -> Value:
    """The result of arithmetic on the operands: a tensor if one of them is, on their device, with their grad."""
    parts = list(operands)
    for index, part in enumerate(parts):
        if isinstance(part, Union):
            return join_all(
                combine([*parts[:index], member, *parts[index + 1 :]], grad_mode)
                for member in part.members
                if member != NONE
            )
    for part in parts:
        if isinstance(part, Nothing):
            return part
    tensors = [part for part in parts if isinstance(part, Tensor)]
    if tensors:
        cpu, grad = result_facts(parts, grad_mode)
        certainty = reduce(stronger, (tensor.certainty for tensor in tensors))
        device_taint = DeviceTaint.NONE if cpu is True else max_device_taint(tensors)
        dtype = promoted(parts)
        return Tensor(
            cpu,
            grad,
            dtype,
            certainty,
            is_number=are_numbers(parts),
            dimensions=_dimensions_of(parts),
            device_taint=device_taint,
            is_given=are_given(parts),
            evidence=rests_on(parts, cpu, grad, grad_mode, dtype),
            param_taint=grad is not False and have_param_taint(parts),
        )
    foreign = next((part for part in parts if isinstance(part, OtherFramework)), None)
    if foreign is not None:
        return foreign
    if all(map(is_number, parts)):
        return NonTensor("number")
    if all(isinstance(part, (NonTensor, Constant, Symbol, Sequence, Mapping, Device)) for part in parts):
        return NonTensor("number or array", of_arithmetic(parts))
    cpu, grad = result_facts(parts, grad_mode)
    unknown = [part for part in parts if isinstance(part, Unknown)]
    is_no_tensor = bool(unknown) and all(part.is_no_tensor for part in unknown)
    reason = unknown[0].reason if unknown else Reason.OPERATION
    device_taint = DeviceTaint.NONE if cpu is True else max_device_taint(unknown)
    param_taint = grad is not False and have_param_taint(parts)
    evidence = rests_on(parts, cpu, grad, grad_mode, None)
    return Unknown(reason, cpu, grad, is_no_tensor, evidence, device_taint, param_taint)


# See `result_facts`, which is asked about too many values to say where.
_COMPANY = frozenset((Evidence(Strength.HABIT, "grad", "company-of-data", "combined with data", "", 0),))


def rests_on(operands: Items[Value], cpu: Fact, grad: Fact, grad_mode: Fact, dtype: str | None) -> AllEvidence:
    """Return what the facts of a result rest on: those of the operands, as far as they say anything; and what was not
    worked out of them, where they say nothing.

    `dtype` is that of the result if it has it from the operands.
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


_NO_OPERANDS = ("bool", "str", "Size", "dtype")  # of arithmetic, but arguments of functions


def promoted(operands: Iterable[Value]) -> str | None:
    """The dtype that torch makes of operands: complex if one of them is, or that of all that are floating point.

    Integers and numbers of Python take no part. None where the operands are of several dtypes, or one is not known.
    """
    dtypes: set[str | None] = set()
    for each in held_in(*operands):
        if isinstance(each, Tensor):
            dtypes.add(each.dtype)
        elif isinstance(each, Constant):
            dtypes.add("complex" if isinstance(each.value, complex) else "integral")
        elif isinstance(each, NonTensor):
            dtypes.add("integral" if is_number(each) or each.what in _NO_OPERANDS else None)
        elif isinstance(each, Unknown):
            dtypes.add("integral" if each.is_no_tensor else None)
        elif not isinstance(each, (Symbol, Device, Sequence, Mapping, Union, Nothing)):
            dtypes.add(None)
    dtypes = {dtype for dtype in dtypes if not is_integral(dtype)}
    if len(dtypes) == 1:
        return dtypes.pop()
    return "complex" if any(map(is_complex, dtypes)) else None


def result_facts(operands: Items[Value], grad_mode: Fact, *, mixes: bool = False) -> tuple[Fact, Fact]:
    """On which device a result made of the operands is, and whether it requires grad.

    Torch's own operators refuse operands on different devices, so one that is on the CPU speaks for all; not so a
    tensor without dimensions, which is taken to any device. What `mixes` holds all of them, each as it is.
    """
    cpus: list[Fact] = []
    grads: list[Fact] = []
    obscure: list[Fact] = []
    speaks_for_all = is_data = False
    waiting = list(operands)
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Sequence) and operand.items:
            waiting.extend(operand.items)
            continue
        parts = [
            each for each in members(operand) if each != NONE and not (isinstance(each, Unknown) and each.is_no_tensor)
        ]
        is_sure = len(parts) == 1  # of what is one thing or another, being off the CPU or having a grad is not
        for value in parts:
            if is_sure and isinstance(value, Tensor) and value.on_cpu is True and not value.is_number:
                speaks_for_all = True
                is_data |= value.requires_grad is False and not is_integral(value.dtype)
            if isinstance(value, (NonTensor, Constant, Symbol, Device, OtherFramework, Nothing)):
                continue
            if isinstance(value, Instance):
                cpu, grad = value.on_cpu, value.requires_grad
            elif isinstance(value, (Tensor, Unknown, Sequence, Mapping, LibraryObject)):
                cpu, grad = tensor_facts(value)
            else:
                cpu, grad = None, None
            cpus.append(cpu if is_sure else cpu or None)
            (obscure if _is_obscure(value) else grads).append(grad if is_sure or not grad else None)
    if not (speaks_for_all and is_data):  # what is worked on together with data on the CPU is taken for data too
        grads += obscure
    if mixes:
        return _common(cpus or [True]), _common([*grads, *obscure] or [False])
    cpu = False if False in cpus else True if speaks_for_all or all(each is True for each in cpus) else None
    if grad_mode is False or all(each is False for each in grads):
        return cpu, False
    if _is_integer_arithmetic(operands):
        return cpu, False
    return cpu, True if grad_mode is True and True in grads else None


def _common(facts: list[Fact]) -> Fact:
    return facts[0] if len(set(facts)) == 1 else None


def _is_obscure(value: Value) -> bool:
    """A parameter or attribute of which nothing is known, so that its company speaks for it; no result of a module."""
    return tensor_facts(value) == (None, None) and are_given((value,))


def are_given(operands: Items[Value]) -> bool:
    """True if there is nothing in the operands but data and what the function or object was given."""
    for operand in operands:
        if isinstance(operand, Sequence) and operand.items:
            if not are_given(operand.items):
                return False
            continue
        for value in members(operand):
            if isinstance(value, Tensor):
                is_given = value.is_given or value.requires_grad is False
            elif isinstance(value, Unknown):
                is_given = value.reason in GIVEN or value.requires_grad is False
            else:
                is_given = isinstance(value, (NonTensor, Constant, Symbol, Device))
            if not is_given:
                return False
    return True


def _dimensions_of(operands: Items[Value]) -> Literal[0] | None:
    """Return 0 if all that is computed number by number are numbers, or tensors without dimensions."""
    have_none = all(each.dimensions == 0 if isinstance(each, Tensor) else is_number(each) for each in operands)
    return 0 if have_none else None


def are_numbers(operands: Items[Value]) -> bool:
    """True if the tensors among the operands, if there are any, have no dimensions, so that their result has none."""
    found = [value for operand in operands for value in members(operand)]
    tensors = [value for value in found if isinstance(value, (Tensor, Unknown, Sequence))]
    return bool(tensors) and all(isinstance(tensor, Tensor) and tensor.is_number for tensor in tensors)


def _is_integer_arithmetic(operands: Items[Value]) -> bool:
    """Integer tensors and what is not known to be a tensor: `indices + self.offset`. The unknown counts as a number.

    A layer counts for no number: it has parameters.
    """
    values = [value for operand in operands for value in members(operand)]
    tensors = [value for value in values if isinstance(value, Tensor)]
    has_layer = any(isinstance(value, LibraryObject) for value in values)
    return bool(tensors) and not has_layer and all(is_integral(tensor.dtype) for tensor in tensors)
