"""Looks up what torch's methods, functions and attributes give, in the measured table torch_api.json."""

from __future__ import annotations

from typing import NamedTuple

from tonumpy.engine.interpreter import representation
from tonumpy.engine.interpreter.devices import (
    as_tensor,
    cast_by_type,
    cpu_of_device,
    grad_asked,
    moved,
    sent_there,
    sent_to,
)
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.operands import are_given, are_numbers, promoted, rests_on, result_facts
from tonumpy.engine.values.dtypes import is_complex, is_dtype_name, is_integral, is_real
from tonumpy.engine.values.evidence import without
from tonumpy.engine.values.joins import join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    dtype_of,
    have_param_taint,
    join_fact,
    max_device_taint,
    members,
    of_dtype,
    tensor_facts,
    truth_of,
)
from tonumpy.engine.values.values import (
    NONE,
    Arguments,
    Constant,
    Device,
    DeviceTaint,
    Mapping,
    NonTensor,
    Nothing,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
)
from tonumpy.facts import Fact
from tonumpy.text.names import ACCELERATORS

# Methods that only a torch tensor has, or what mimics one closely enough to be repaired in the same way.
TORCH_WORDS = frozenset(
    "cpu cuda detach detach_ requires_grad_ unsqueeze unsqueeze_ contiguous permute backward is_floating_point"
    " type_as masked_fill masked_fill_ index_select new_zeros new_ones new_tensor new_full expand_as view_as"
    " share_memory_ pin_memory to_dense coalesce to_sparse bfloat16 retain_grad data_ptr clamp_ zero_ fill_ add_"
    " mul_ copy_ log_softmax softmax long clamp topk sigmoid".split()
)
_FROM_DATA = frozenset(("torch.tensor", "torch.as_tensor", "torch.asarray"))
_BETWEEN_BOUNDS = frozenset(("torch.linspace", "torch.logspace"))


class Call(NamedTuple):
    """The operands of a call, those whose grad the result takes over, and how it is called."""

    operands: tuple[Value, ...]
    carriers: tuple[Value, ...]
    arguments: Arguments
    takes: tuple[str, ...]
    mode: Fact
    first: int = 0
    may_reduce: bool = False


# In-place methods for which torch raises where the tensor requires grad.
REFUSING_GRAD = frozenset("resize_ resize_as_ apply_ map_ map2_".split())
# Those of them for which torch raises where the tensor is not on the CPU, as they call Python for each element.
ON_CPU_ALONE = frozenset(("apply_", "map_", "map2_"))


def attribute_of_tensor(tensor: Tensor, name: str) -> Value | None:
    """Return what an attribute of a tensor is; None where the name is a method's, or not known."""
    if name == "device":
        return Device(tensor.on_cpu, "cpu" if tensor.on_cpu else None, tensor.device_taint)
    if name == "dtype":
        return of_dtype(tensor.dtype)
    if name == "is_cuda":
        return NonTensor("bool") if tensor.on_cpu is None else Constant(not tensor.on_cpu)
    if name == "requires_grad":
        return NonTensor("bool") if tensor.requires_grad is None else Constant(tensor.requires_grad)
    known = torch_api.tensor_attribute(name)
    if known is None:
        return None
    result = output_of(known, Call((tensor,), (tensor,), Arguments(()), (), None))
    return representation.of_method(tensor, name, Arguments(()), result)


def tensor_method(receiver: Tensor | Unknown, name: str, arguments: Arguments, mode: Fact) -> Value | None:
    """The result of a method of torch.Tensor; None where torch.Tensor has no such method."""
    if name in ("cpu", "pin_memory") or name in ACCELERATORS:
        there = moved(receiver, name not in ACCELERATORS, None, mode)
        return there._replace(evidence=without(there.evidence, "device"))
    if name == "to":
        return sent_to(receiver, arguments, mode)
    if name == "type" and (arguments.positional or arguments.named):
        return cast_by_type(receiver, arguments, mode)
    if name in ("detach", "detach_"):
        tensor = as_tensor(receiver)
        return tensor._replace(requires_grad=False, evidence=without(tensor.evidence, "grad"), param_taint=False)
    if name == "requires_grad_":
        truth = grad_asked(arguments)
        return as_tensor(receiver)._replace(requires_grad=truth, is_given=truth is False)
    if name == "type_as":
        return sent_to(receiver, Arguments(arguments.positional[:1]), mode)
    if name in ("untyped_storage", "storage", "typed_storage"):
        return NonTensor("storage")
    if name in REFUSING_GRAD:
        return without_grad(as_tensor(receiver), name)
    if name == "set_":  # takes the memory of another tensor, and its grad; torch refuses a leaf that requires grad
        given = (receiver,) if mode is False else arguments.values()
        grad = result_facts(given, True)[1]
        evidence = rests_on((receiver, *given), receiver.on_cpu, grad, True, None)
        return as_tensor(receiver)._replace(requires_grad=grad, evidence=evidence, param_taint=have_param_taint(given))
    operator = torch_api.tensor_method(name)
    if operator is None:
        return as_tensor(receiver) if name in ("share_memory_", "rename_") else None
    gives_shape = name in ("view_as", "expand_as", "reshape_as")
    result = _apply(operator, _call_of(operator, Arguments(()) if gives_shape else arguments, mode, receiver))
    result = representation.of_method(receiver, name, arguments, result)
    if name.endswith("_") and not name.endswith("__") and isinstance(result, Tensor):
        cpu = receiver.on_cpu if name == "copy_" or result.on_cpu is None else result.on_cpu
        dtype = receiver.dtype if isinstance(receiver, Tensor) else result.dtype
        result = result._replace(on_cpu=cpu, dtype=dtype)
    if "self" in operator.writes and isinstance(result, Tensor) and mode is not True:
        grad = receiver.requires_grad if mode is False else join_fact(result.requires_grad, receiver.requires_grad)
        return result._replace(requires_grad=grad)
    return result


def without_grad(receiver: Tensor | Unknown, method: str) -> Tensor | Unknown:
    """A tensor for which a method that refuses grad has not raised."""
    cpu, taint = (True, DeviceTaint.NONE) if method in ON_CPU_ALONE else (receiver.on_cpu, receiver.device_taint)
    return receiver._replace(requires_grad=False, param_taint=False, on_cpu=cpu, device_taint=taint)


def torch_function(name: str, arguments: Arguments, mode: Fact) -> Value | None:
    """The result of a function of torch; None where torch_api.json does not know it."""
    if name.endswith("broadcast_tensors"):
        return sequence_of([each for each in arguments.positional if isinstance(each, Tensor)])
    operator = torch_api.function(name)
    if operator is None:
        return representation.of_function(name, arguments, None)
    call = _call_of(operator, arguments, mode)
    if operator.name in _FROM_DATA:  # what is made of a list is on the default device, wherever the tensors in it are
        operands = tuple(each for each in call.operands if not isinstance(each, (Sequence, Mapping)))
        if operator.name == "torch.tensor":
            operands = tuple(each for each in operands if not _is_other_data(each))
        call = call._replace(operands=operands, carriers=operands)
    if operator.name in _BETWEEN_BOUNDS:
        call = call._replace(operands=tuple(each for each in call.operands if isinstance(each, Tensor)))
    if operator.name == "torch.normal" and arguments.get(2, "size") is not None:
        call = call._replace(operands=(), carriers=())
    result = _apply(operator, call)
    first = arguments.get(0, "data")
    if operator.name in _FROM_DATA and isinstance(result, Tensor) and isinstance(first, Constant):
        result = result._replace(is_number=True, dimensions=0)
    return representation.of_function(name, arguments, result)


def _is_other_data(value: Value) -> bool:
    return isinstance(value, Unknown) and value.on_cpu is None and value.reason is not Reason.PARAMETER


def _call_of(operator: torch_api.Callable, given: Arguments, mode: Fact, receiver: Value | None = None) -> Call:
    own: tuple[Value, ...] = () if receiver is None else (receiver,)
    places: list[tuple[int | str, Value]] = [*enumerate(given.positional, len(own)), *given.named]
    if not isinstance(given.starred, Nothing):
        places.append((len(own) + len(given.positional), given.starred))
    operands = tuple(value for place, value in places if operator.takes_tensor_at(place))
    carriers = tuple(value for place, value in places if operator.takes_grad_at(place))
    if operator.name.rpartition(".")[2].strip("_").partition("_")[0] in ("clamp", "clip"):
        operands = tuple(each for each in operands if isinstance(each, Tensor))  # bounds are numbers, most often
        carriers = tuple(each for each in carriers if each in operands)
    return Call((*own, *operands), (*own, *carriers), given, operator.takes, mode, len(own), operator.may_reduce)


def _apply(operator: torch_api.Callable, call: Call) -> Value:
    arguments = call.arguments
    if isinstance(out := arguments.named_value("out"), Tensor):
        return out
    for each in call.operands:
        held = each.element if isinstance(each, Sequence) else each
        if isinstance(held, Nothing):
            return held
    given: set[str] = set()
    unsure: set[str] = set()
    for parameter, position, counts in operator.deciders:
        at = None if position is None else position - call.first
        value = arguments.named_value(parameter) if at is None else arguments.get(at, parameter)
        is_off = isinstance(value, Tensor) or (isinstance(value, Constant) and value.value in (None, False))
        if value is None or (is_off and counts != "any"):
            if arguments.has_star and value is None:
                unsure.add(parameter)
            continue
        (unsure if isinstance(value, (Unknown, Union)) else given).add(parameter)
    results = operator.results_given(frozenset(given), frozenset(unsure)) or operator.results
    return join_all(_result(result, call) for result in results)


def _result(result: torch_api.Result, call: Call) -> Value:
    outputs = tuple(output_of(output, call) for output in result.outputs)
    if result.container == "tuple":
        return Sequence(outputs, join_all(outputs), result.fields)
    return Sequence(None, join_all(outputs)) if result.container == "sequence" else outputs[0]


def output_of(output: torch_api.Output, call: Call) -> Value:
    """One output of a call, by its row of the table."""
    if output.kind in ("unknown", "object", "tuple"):
        return Unknown(Reason.LIBRARY)
    if output.kind != "tensor":
        return NONE if output.kind == "NoneType" else NonTensor(output.kind, 0 if output.kind == "array" else None)
    parts = (value for operand in call.operands for value in members(operand))
    first = next((value for value in parts if isinstance(value, (Tensor, Unknown))), None)
    dtype = _dtype_of_output(output, call, first)
    cpu, grad = _device_of_output(output, call), _grad_of_output(output, call, first)
    grad = False if is_integral(dtype) else grad
    device = call.arguments.named_value("device") if "device" in call.takes else None
    taint = DeviceTaint.NONE
    if cpu is not True:
        elements = (each.element if isinstance(each, Sequence) else each for each in call.operands)
        taint = max(max_device_taint(part for each in elements for part in members(each)), sent_there(device))
        taint = DeviceTaint.CHOSEN if cpu is False else taint
    is_placed = cpu is None and device is not None
    is_asked = grad is True or (grad is None and output.grad == "argument")
    given_cpu = cpu if output.device != "cpu" and not is_placed else None
    evidence = rests_on(call.operands, given_cpu, grad, call.mode, dtype if output.has_dtype_of_inputs else None)
    if output.grad in ("never", "argument", "always") or is_integral(dtype):
        evidence = without(evidence, "grad")
    return Tensor(
        cpu,
        grad,
        dtype,
        first.certainty if isinstance(first, Tensor) else "tensor",
        call.may_reduce or are_numbers(call.operands),
        bit=first.bit if isinstance(first, Tensor) and output.memory == "view" else None,
        device_taint=taint,
        is_given=not is_asked and not is_placed and are_given(call.operands),
        evidence=evidence,
        param_taint=grad is not False and output.grad not in ("never", "argument") and have_param_taint(call.carriers),
    )


def _device_of_output(output: torch_api.Output, call: Call) -> Fact:
    given = call.arguments.named_value("device") if "device" in call.takes else None
    if given is not None and given != NONE:
        return cpu_of_device(given)
    if "device" in call.takes and call.arguments.hides_names:
        return None
    if output.device in ("cpu", "argument"):
        return True
    cpu = result_facts(call.operands, None)[0]
    return cpu if output.device == "same" or cpu is True else None


def _grad_of_output(output: torch_api.Output, call: Call, first: Value | None) -> Fact:
    asked = call.arguments.named_value("requires_grad") if "requires_grad" in call.takes else None
    if asked is not None:
        return truth_of(asked)
    if output.grad in ("never", "argument", "always"):
        return output.grad == "always"
    if call.mode is False:  # views keep the grad of their base
        own = tensor_facts(first)[1] if first is not None else None
        return (False if own is False else None) if output.memory in ("view", "may view") else False
    grad = result_facts(call.carriers, call.mode)[1]
    return grad if output.grad == "inputs" or grad is False else None


def _dtype_of_output(output: torch_api.Output, call: Call, first: Value | None) -> str | None:
    asked = call.arguments.named_value("dtype") if "dtype" in call.takes else None
    if asked not in (None, NONE):
        return dtype_of(asked)
    if output.dtype in ("promoted", "promoted float"):
        dtype = promoted(call.carriers) if call.arguments.all_values() is not None else None
        return dtype if output.dtype == "promoted" or is_real(dtype) else None
    own = first.dtype if isinstance(first, Tensor) else None
    if output.dtype in ("same", "same float", "same alone"):
        is_kept = output.dtype == "same" or is_real(own) or (output.dtype == "same alone" and is_complex(own))
        return own if is_kept and (is_integral(own) or promoted(call.carriers) == own) else None
    return output.dtype if output.dtype is not None and is_dtype_name(output.dtype) else None
