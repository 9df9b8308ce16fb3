"""From an output of an operator of torch, as its table says it, to a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.knowledge.operands import are_given, are_numbers, promoted, rests_on, result_facts
from tonumpy.engine.values.dtypes import is_complex, is_dtype_name, is_integral, is_real
from tonumpy.engine.values.evidence import without
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import dtype_of, have_param_taint, max_device_taint, members, tensor_facts
from tonumpy.engine.values.values import (
    NONE,
    Arguments,
    Constant,
    DeviceTaint,
    NonTensor,
    Nothing,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.inference.transfer.devices import (
    cpu_of_device,
    sent_there,
)

if TYPE_CHECKING:
    from tonumpy.engine.knowledge import torch_api
    from tonumpy.facts import Fact


# The mark of a view that was made while grad mode was off: it has the grad of its base, and nothing changes that.
UNALTERABLE = frozenset(("a view made without grad",))


class OperatorCall(NamedTuple):
    """What the outputs of one call are worked out from.

    `operands` are the arguments that may be tensors, a method's own tensor first, and `carriers` those of them whose
    grad the result takes over; `first_position` is that of the first of the arguments.
    """

    operands: tuple[Value, ...]
    carriers: tuple[Value, ...]
    arguments: Arguments
    takes: tuple[str, ...]
    grad_mode: Fact
    first_position: int = 0
    may_reduce: bool = False


def _viewing(output: torch_api.Output, call: OperatorCall) -> Value:
    """An output, with the names of the tensors that it may view or be."""
    value = output_of(output, call)
    if not isinstance(value, Tensor) or output.memory not in ("view", "may view", "inplace"):
        return value
    operands = [
        value
        for operand in call.operands
        for value in (operand.items or () if isinstance(operand, Sequence) else members(operand))
    ]
    held = [operand.origins for operand in operands if isinstance(operand, Tensor)]
    if output.memory != "inplace" and call.grad_mode is not True and value.requires_grad is None:
        held.append(UNALTERABLE)
    return value._replace(origins=frozenset[str]().union(*held))


def output_of(output: torch_api.Output, call: OperatorCall) -> Value:
    if output.kind in ("unknown", "object", "tuple"):
        return Unknown(Reason.LIBRARY)
    if output.kind != "tensor":
        return NONE if output.kind == "NoneType" else NonTensor(output.kind, 0 if output.kind == "array" else None)
    first = next(
        (value for operand in call.operands for value in members(operand) if isinstance(value, (Tensor, Unknown))), None
    )
    cpu, grad = _device_of_output(output, call), _grad_of_output(output, call, first)
    dtype = _dtype_of_output(output, call, first)
    certainty = first.certainty if isinstance(first, Tensor) else "tensor"
    bit = first.bit if isinstance(first, Tensor) else None
    if bit and output.memory == "may view":
        dtype = None  # whether the bit is still set is not known, nor then what another `.conj()` does to it
    grad = False if is_integral(dtype) else grad
    bit = bit if output.memory == "view" else None
    device_taint = DeviceTaint.NONE if cpu is True else _sent_of_output(call)
    is_asked = grad is True or (grad is None and output.grad == "argument")
    is_placed = cpu is None and call.arguments.named_value("device") is not None
    is_given = not is_asked and not is_placed and are_given(call.operands)
    is_number = call.may_reduce or are_numbers(call.operands)
    given_device = cpu if output.device != "cpu" and not is_placed else None
    given_dtype = dtype if output.has_dtype_of_inputs and not _is_dtype_asked(call) else None
    evidence = rests_on(call.operands, given_device, grad, call.grad_mode, given_dtype)
    if output.grad in ("never", "argument", "always") or is_integral(dtype):
        evidence = without(evidence, "grad")
    param_taint = grad is not False and output.grad not in ("never", "argument") and have_param_taint(call.carriers)
    return Tensor(
        cpu,
        grad,
        dtype,
        certainty,
        is_number,
        bit=bit,
        device_taint=device_taint,
        is_given=is_given,
        evidence=evidence,
        param_taint=param_taint,
    )


def _sent_of_output(call: OperatorCall) -> DeviceTaint:
    parts = [operand.element if isinstance(operand, Sequence) else operand for operand in call.operands]
    taint = max_device_taint(member for part in parts for member in members(part))
    return max(taint, sent_there(call.arguments.named_value("device"))) if "device" in call.takes else taint


def _device_of_output(output: torch_api.Output, call: OperatorCall) -> Fact:
    given = call.arguments.named_value("device") if "device" in call.takes else None
    if given is not None and given != NONE:
        return cpu_of_device(given)
    hides_tensors = output.device != "argument" and not _are_no_tensors(call.arguments.starred)  # a factory takes sizes
    if "device" in call.takes and (call.arguments.hides_names or hides_tensors):
        return None
    if output.device == "cpu" or output.device == "argument":
        return True  # that nobody has changed the default device is what `evidence_of_default` speaks of
    cpu = result_facts(call.operands, None)[0]
    if output.device is None and call.arguments.named_value("device") is not None:
        return None
    # Whatever else an operator does with its operands, it takes nothing to an accelerator that is not told to.
    return cpu if output.device == "same" or cpu is True else None


def _grad_of_output(output: torch_api.Output, call: OperatorCall, first: Tensor | Unknown | None) -> Fact:
    if "requires_grad" in call.takes:
        asked = call.arguments.named_value("requires_grad")
        if asked is not None:
            return asked.value if isinstance(asked, Constant) and isinstance(asked.value, bool) else None
    if output.grad in ("never", "argument"):
        return False
    if output.grad == "always":
        return True
    if call.grad_mode is False:
        # What may hand its input back hands back its grad too, and so do views: a Parameter's `.view()` under no_grad.
        own = tensor_facts(first)[1] if first is not None else None
        return (False if own is False else None) if output.memory in ("view", "may view") else False
    grad = result_facts(call.carriers, call.grad_mode)[1]
    if output.grad == "inputs":
        return grad
    return False if output.grad == "some inputs" and grad is False else None


def _are_no_tensors(hidden: Value) -> bool:
    """Whether what a * hides is surely no tensor, as the sizes in `torch.zeros(*x.shape)`."""
    return all(isinstance(value, (NonTensor, Constant, Nothing)) for value in members(hidden))


def _is_dtype_asked(call: OperatorCall) -> bool:
    return "dtype" in call.takes and call.arguments.named_value("dtype") not in (None, NONE)


def _dtype_of_output(output: torch_api.Output, call: OperatorCall, first: Tensor | Unknown | None) -> str | None:
    if _is_dtype_asked(call):
        return dtype_of(call.arguments.named_value("dtype"))
    if output.dtype in ("promoted", "promoted float"):
        dtype = promoted(call.carriers) if call.arguments.all_values() is not None else None
        return dtype if output.dtype == "promoted" or is_real(dtype) else None
    own = first.dtype if isinstance(first, Tensor) else None
    is_kept = {"same": True, "same float": is_real(own), "same alone": is_real(own) or is_complex(own)}
    if isinstance(first, Tensor) and is_kept.get(output.dtype or ""):
        return own if not _may_be_promoted(first, call) else None
    return output.dtype if output.dtype is not None and is_dtype_name(output.dtype) else None


def _may_be_promoted(first: Tensor, call: OperatorCall) -> bool:
    """Whether another operand may make the result wider: what takes operands of one dtype keeps it, not of two."""
    if is_integral(first.dtype):
        others = [value for operand in call.operands for value in members(operand)]
        return any(isinstance(value, Tensor) and not is_integral(value.dtype) for value in others)
    others = [value for value in call.carriers if value is not first]
    return promoted((first, *others)) != first.dtype
