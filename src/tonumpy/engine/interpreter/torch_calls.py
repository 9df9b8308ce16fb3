"""Evaluates torch's methods, functions and attributes by the measured table torch_api.json."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import is_complex, is_dtype_name, is_integral, is_real
from tonumpy.engine.values.evidence import AllEvidence, without
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
from tonumpy.facts import Fact
from tonumpy.text.names import ACCELERATORS

# Methods of torch tensors alone, or of objects that mimic them closely enough for the same repair.
TORCH_WORDS = frozenset(
    "cpu cuda detach detach_ requires_grad_ unsqueeze unsqueeze_ contiguous permute backward is_floating_point"
    " type_as masked_fill masked_fill_ index_select new_zeros new_ones new_tensor new_full expand_as view_as"
    " share_memory_ pin_memory to_dense coalesce to_sparse bfloat16 retain_grad data_ptr clamp_ zero_ fill_ add_"
    " mul_ copy_ log_softmax softmax long clamp topk sigmoid".split()
)
_FROM_DATA = frozenset(("torch.tensor", "torch.as_tensor", "torch.asarray"))
_BETWEEN_BOUNDS = frozenset(("torch.linspace", "torch.logspace"))


class Call(NamedTuple):
    """A call: its operands, those whose grad may reach the result (`carriers`), and how it is called."""

    operands: tuple[v.Value, ...]
    carriers: tuple[v.Value, ...]
    arguments: v.Arguments
    takes: tuple[str, ...]
    mode: Fact
    first: int = 0
    may_reduce: bool = False


# In-place methods that raise if the tensor requires grad.
REFUSING_GRAD = frozenset("resize_ resize_as_ apply_ map_ map2_".split())
# Those of them that raise if the tensor is not on the CPU, as they call Python for each element.
ON_CPU_ALONE = frozenset(("apply_", "map_", "map2_"))


def attribute_of_tensor(tensor: v.Tensor, name: str) -> v.Value | None:
    """The value of a tensor's attribute; None if the name is a method's or unknown."""
    if name == "device":
        return v.Device(tensor.on_cpu, "cpu" if tensor.on_cpu else None, tensor.device_taint)
    if name == "dtype":
        return of_dtype(tensor.dtype)
    if name == "is_cuda":
        return v.NonTensor("bool") if tensor.on_cpu is None else v.Constant(not tensor.on_cpu)
    if name == "requires_grad":
        return v.NonTensor("bool") if tensor.requires_grad is None else v.Constant(tensor.requires_grad)
    known = torch_api.tensor_attribute(name)
    if known is None:
        return None
    result = output_of(known, Call((tensor,), (tensor,), v.Arguments(()), (), None))
    return representation.of_method(tensor, name, v.Arguments(()), result)


def tensor_method(receiver: v.Tensor | v.Unknown, name: str, arguments: v.Arguments, mode: Fact) -> v.Value | None:
    """The result of a method of torch.Tensor; None if there is no such method."""
    special = _SPECIAL_METHODS.get(name)
    if special is not None and (name != "type" or arguments.positional or arguments.named):
        return special(receiver, arguments, mode)
    if name in REFUSING_GRAD:
        return without_grad(as_tensor(receiver), name)
    operator = torch_api.tensor_method(name)
    if operator is None:
        return as_tensor(receiver) if name in ("share_memory_", "rename_") else None
    gives_shape = name in ("view_as", "expand_as", "reshape_as")
    result = _apply(operator, _call_of(operator, v.Arguments(()) if gives_shape else arguments, mode, receiver))
    result = representation.of_method(receiver, name, arguments, result)
    return _written(operator, receiver, name, result, mode) if isinstance(result, v.Tensor) else result


def _written(
    operator: torch_api.Callable, receiver: v.Tensor | v.Unknown, name: str, result: v.Tensor, mode: Fact
) -> v.Tensor:
    """The result of a method that may write to its own tensor, which keeps its device and dtype."""
    if name.endswith("_") and not name.endswith("__"):
        cpu = receiver.on_cpu if name == "copy_" or result.on_cpu is None else result.on_cpu
        result = result._replace(on_cpu=cpu, dtype=receiver.dtype if isinstance(receiver, v.Tensor) else result.dtype)
    if "self" not in operator.writes or mode is True:
        return result
    grad = receiver.requires_grad if mode is False else join_fact(result.requires_grad, receiver.requires_grad)
    return result._replace(requires_grad=grad)


def _moved_to(on_cpu: bool, receiver: v.Tensor | v.Unknown, mode: Fact) -> v.Tensor:
    there = moved(receiver, on_cpu, None, mode)
    return there._replace(evidence=without(there.evidence, "device"))


def _detached(receiver: v.Tensor | v.Unknown, _: v.Arguments, __: Fact) -> v.Tensor:
    tensor = as_tensor(receiver)
    return tensor._replace(requires_grad=False, evidence=without(tensor.evidence, "grad"), param_taint=False)


def _asked_for_grad(receiver: v.Tensor | v.Unknown, arguments: v.Arguments, _: Fact) -> v.Tensor:
    truth = grad_asked(arguments)
    return as_tensor(receiver)._replace(requires_grad=truth, is_given=truth is False)


def _set(receiver: v.Tensor | v.Unknown, arguments: v.Arguments, mode: Fact) -> v.Tensor:
    """The result of `x.set_(y)`, which takes over the memory and grad of `y`; torch refuses a leaf that requires
    grad."""
    given = (receiver,) if mode is False else arguments.values()
    grad = result_facts(given, True)[1]
    evidence = rests_on((receiver, *given), receiver.on_cpu, grad, True, None)
    return as_tensor(receiver)._replace(requires_grad=grad, evidence=evidence, param_taint=have_param_taint(given))


_SPECIAL_METHODS: dict[str, Callable[[v.Tensor | v.Unknown, v.Arguments, Fact], v.Value]] = {
    **dict.fromkeys(("cpu", "pin_memory"), lambda receiver, _, mode: _moved_to(True, receiver, mode)),
    **dict.fromkeys(ACCELERATORS, lambda receiver, _, mode: _moved_to(False, receiver, mode)),
    **dict.fromkeys(("detach", "detach_"), _detached),
    **dict.fromkeys(("untyped_storage", "storage", "typed_storage"), lambda *_: v.NonTensor("storage")),
    "to": sent_to,
    "type": cast_by_type,
    "type_as": lambda receiver, arguments, mode: sent_to(receiver, v.Arguments(arguments.positional[:1]), mode),
    "requires_grad_": _asked_for_grad,
    "set_": _set,
}


def without_grad(receiver: v.Tensor | v.Unknown, method: str) -> v.Tensor | v.Unknown:
    """The tensor after a method that refuses grad has not raised: without grad, and for some methods on the CPU."""
    cpu, taint = (True, v.DeviceTaint.NONE) if method in ON_CPU_ALONE else (receiver.on_cpu, receiver.device_taint)
    return receiver._replace(requires_grad=False, param_taint=False, on_cpu=cpu, device_taint=taint)


def torch_function(name: str, arguments: v.Arguments, mode: Fact) -> v.Value | None:
    """The result of a function of torch; None if torch_api.json lacks it."""
    if name.endswith("broadcast_tensors"):
        return sequence_of([each for each in arguments.positional if isinstance(each, v.Tensor)])
    operator = torch_api.function(name)
    if operator is None:
        return representation.of_function(name, arguments, None)
    call = _with_operands_that_count(operator, _call_of(operator, arguments, mode))
    result = _apply(operator, call)
    if (
        isinstance(result, v.Tensor)
        and operator.name in _FROM_DATA
        and isinstance(arguments.get(0, "data"), v.Constant)
    ):
        result = result._replace(is_number=True, dimensions=0)
    return representation.of_function(name, arguments, result)


def _with_operands_that_count(operator: torch_api.Callable, call: Call) -> Call:
    """The call without operands that decide neither the device nor the grad of its result."""
    operands = call.operands
    if operator.name in _FROM_DATA:  # made of a list, it is on the default device, wherever the tensors are
        operands = tuple(each for each in operands if not isinstance(each, (v.Sequence, v.Mapping)))
        if operator.name == "torch.tensor":
            operands = tuple(each for each in operands if not _is_other_data(each))
        return call._replace(operands=operands, carriers=operands)
    if operator.name in _BETWEEN_BOUNDS:
        return call._replace(operands=tuple(each for each in operands if isinstance(each, v.Tensor)))
    if operator.name == "torch.normal" and call.arguments.get(2, "size") is not None:
        return call._replace(operands=(), carriers=())
    return call


def _is_other_data(value: v.Value) -> bool:
    return isinstance(value, v.Unknown) and value.on_cpu is None and value.reason is not Reason.PARAMETER


def _call_of(operator: torch_api.Callable, given: v.Arguments, mode: Fact, receiver: v.Value | None = None) -> Call:
    own: tuple[v.Value, ...] = () if receiver is None else (receiver,)
    places: list[tuple[int | str, v.Value]] = [*enumerate(given.positional, len(own)), *given.named]
    if not isinstance(given.starred, v.Nothing):
        places.append((len(own) + len(given.positional), given.starred))
    operands = tuple(value for place, value in places if operator.takes_tensor_at(place))
    carriers = tuple(value for place, value in places if operator.takes_grad_at(place))
    if operator.name.rpartition(".")[2].strip("_").partition("_")[0] in ("clamp", "clip"):
        operands = tuple(each for each in operands if isinstance(each, v.Tensor))  # bounds are mostly numbers
        carriers = tuple(each for each in carriers if each in operands)
    return Call((*own, *operands), (*own, *carriers), given, operator.takes, mode, len(own), operator.may_reduce)


def _apply(operator: torch_api.Callable, call: Call) -> v.Value:
    arguments = call.arguments
    if isinstance(out := arguments.named_value("out"), v.Tensor):
        return out
    if absent := [each for each in _elements(call.operands) if isinstance(each, v.Nothing)]:
        return absent[0]
    given, unsure = _parameters_given(operator, call)
    results = operator.results_given(given, unsure) or operator.results
    return join_all(_result(result, call) for result in results)


def _elements(operands: Sequence[v.Value]) -> Iterator[v.Value]:
    return (each.element if isinstance(each, v.Sequence) else each for each in operands)


def _parameters_given(operator: torch_api.Callable, call: Call) -> tuple[frozenset[str], frozenset[str]]:
    """The deciders that a call passes, and those that it may pass."""
    arguments = call.arguments
    given: set[str] = set()
    unsure: set[str] = set()
    for parameter, position, counts in operator.deciders:
        at = None if position is None else position - call.first
        value = arguments.named_value(parameter) if at is None else arguments.get(at, parameter)
        is_off = isinstance(value, v.Tensor) or (isinstance(value, v.Constant) and value.value in (None, False))
        if value is None or (is_off and counts != "any"):
            if arguments.has_star and value is None:
                unsure.add(parameter)
            continue
        (unsure if isinstance(value, (v.Unknown, v.Union)) else given).add(parameter)
    return frozenset(given), frozenset(unsure)


def _result(result: torch_api.Result, call: Call) -> v.Value:
    outputs = tuple(output_of(output, call) for output in result.outputs)
    if result.container == "tuple":
        return v.Sequence(outputs, join_all(outputs), result.fields)
    return v.Sequence(None, join_all(outputs)) if result.container == "sequence" else outputs[0]


def output_of(output: torch_api.Output, call: Call) -> v.Value:
    """The value of one output of a call, by its row in the table."""
    if output.kind in ("unknown", "object", "tuple"):
        return v.Unknown(Reason.LIBRARY)
    if output.kind != "tensor":
        return v.NONE if output.kind == "NoneType" else v.NonTensor(output.kind, 0 if output.kind == "array" else None)
    return _tensor_given(output, call)


def _tensor_given(output: torch_api.Output, call: Call) -> v.Tensor:
    first = _first_tensor(call.operands)
    dtype, cpu = _dtype_of_output(output, call, first), _device_of_output(output, call)
    grad = False if is_integral(dtype) else _grad_of_output(output, call, first)
    device = call.arguments.named_value("device") if "device" in call.takes else None
    is_placed = cpu is None and device is not None
    is_asked = grad is True or (grad is None and output.grad == "argument")
    takes_over = grad is not False and output.grad not in ("never", "argument")
    made = v.Tensor(
        cpu,
        grad,
        dtype,
        is_number=call.may_reduce or are_numbers(call.operands),
        device_taint=_taint_of_output(cpu, call, device),
        is_given=not is_asked and not is_placed and are_given(call.operands),
        evidence=_evidence_of_output(output, call, None if is_placed else cpu, grad, dtype),
        param_taint=takes_over and have_param_taint(call.carriers),
    )
    if not isinstance(first, v.Tensor):
        return made
    return made._replace(certainty=first.certainty, bit=first.bit if output.memory == "view" else None)


def _first_tensor(operands: Sequence[v.Value]) -> v.Tensor | v.Unknown | None:
    parts = (value for operand in operands for value in members(operand))
    return next((value for value in parts if isinstance(value, (v.Tensor, v.Unknown))), None)


def _evidence_of_output(output: torch_api.Output, call: Call, cpu: Fact, grad: Fact, dtype: str | None) -> AllEvidence:
    cpu, of_inputs = (None if output.device == "cpu" else cpu), (dtype if output.has_dtype_of_inputs else None)
    evidence = rests_on(call.operands, cpu, grad, call.mode, of_inputs)
    is_of_operands = output.grad not in ("never", "argument", "always") and not is_integral(dtype)
    return evidence if is_of_operands else without(evidence, "grad")


def _taint_of_output(cpu: Fact, call: Call, device: v.Value | None) -> v.DeviceTaint:
    if cpu is not None:
        return v.DeviceTaint.NONE if cpu else v.DeviceTaint.CHOSEN
    return max(
        max_device_taint(part for each in _elements(call.operands) for part in members(each)), sent_there(device)
    )


def _device_of_output(output: torch_api.Output, call: Call) -> Fact:
    given = call.arguments.named_value("device") if "device" in call.takes else None
    if given is not None and given != v.NONE:
        return cpu_of_device(given)
    if "device" in call.takes and call.arguments.hides_names:
        return None
    if output.device in ("cpu", "argument"):
        return True
    cpu = result_facts(call.operands, None)[0]
    return cpu if output.device == "same" or cpu is True else None


def _grad_of_output(output: torch_api.Output, call: Call, first: v.Value | None) -> Fact:
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


def _dtype_of_output(output: torch_api.Output, call: Call, first: v.Value | None) -> str | None:
    asked = call.arguments.named_value("dtype") if "dtype" in call.takes else None
    if asked not in (None, v.NONE):
        return dtype_of(asked)
    if output.dtype in ("promoted", "promoted float"):
        dtype = promoted(call.carriers) if call.arguments.all_values() is not None else None
        return dtype if output.dtype == "promoted" or is_real(dtype) else None
    if output.dtype in ("same", "same float", "same alone"):
        return _dtype_kept(output.dtype, call, first.dtype if isinstance(first, v.Tensor) else None)
    return output.dtype if output.dtype is not None and is_dtype_name(output.dtype) else None


def _dtype_kept(which: str, call: Call, own: str | None) -> str | None:
    is_kept = which == "same" or is_real(own) or (which == "same alone" and is_complex(own))
    return own if is_kept and (is_integral(own) or promoted(call.carriers) == own) else None
