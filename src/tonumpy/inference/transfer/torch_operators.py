"""Transfer functions of torch's operators, methods and attributes, driven by torch_api.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.values.dtypes import is_integral
from tonumpy.engine.values.evidence import PROVED, without
from tonumpy.engine.values.joins import join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    join_fact,
    mapped,
    may_be,
    members,
    of_dtype,
    resting_on,
    tensor_facts,
    truth_of,
)
from tonumpy.engine.values.values import (
    NONE,
    NOTHING,
    Arguments,
    Constant,
    Device,
    Mapping,
    NonTensor,
    Nothing,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    same,
)
from tonumpy.inference.transfer import representation
from tonumpy.inference.transfer.devices import (
    as_tensor,
    cast_by_type,
    is_of_no_tensor,
    keeps_device,
    moved,
    sent_there,
    sent_to,
)
from tonumpy.inference.transfer.operator_outputs import UNALTERABLE, OperatorCall, _viewing
from tonumpy.inference.transfer.tensor_dimensions import with_dimensions_known
from tonumpy.text.names import ACCELERATORS

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import AllEvidence
    from tonumpy.facts import Fact

# Methods that only a torch tensor (or what mimics one closely enough to be repaired the same way) has.
TORCH_WORDS = frozenset(
    "cpu cuda detach detach_ requires_grad_ unsqueeze unsqueeze_ contiguous permute backward is_floating_point"
    " type_as masked_fill masked_fill_ index_select new_zeros new_ones new_tensor new_full expand_as view_as"
    " share_memory_ pin_memory to_dense coalesce to_sparse bfloat16 retain_grad data_ptr clamp_ zero_ fill_ add_"
    " mul_ copy_ log_softmax softmax long clamp topk sigmoid".split()
)


def attribute_of_tensor(tensor: Tensor, name: str) -> Value | None:
    """What an attribute of a tensor is; None where the name is a method's, or not known."""
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
    result = _viewing(known, OperatorCall((tensor,), (tensor,), Arguments(()), (), None))
    if name == "data" and isinstance(result, Tensor):
        result = result._replace(origins=frozenset())  # what becomes of its grad is its own, as with `detach()`
    return representation.of_method(tensor, name, Arguments(()), result)


def grad_asked_for(arguments: Arguments) -> Fact:
    """What `requires_grad_(...)` is told; True where it is told nothing."""
    given = arguments.get(0, "requires_grad")
    return True if given is None else truth_of(given)


# In place, and torch raises where the tensor requires grad (measured on torch 2.13).
_REFUSE_GRAD = frozenset("resize_ resize_as_ apply_ map_".split())


def call_tensor_method(receiver: Tensor | Unknown, name: str, arguments: Arguments, grad_mode: Fact) -> Value | None:
    """The result of a method of torch.Tensor; None where torch.Tensor has no such method."""
    if name in ("cpu", "pin_memory") or name in ACCELERATORS:  # only memory of the CPU can be pinned
        there = moved(receiver, name not in ACCELERATORS, None, grad_mode)
        return there._replace(evidence=without(there.evidence, "device"))
    if name == "share_memory_" or (name == "to" and isinstance(receiver, Unknown) and is_of_no_tensor(arguments)):
        return as_tensor(receiver) if name == "share_memory_" else receiver
    if name == "to":
        there = sent_to(receiver, arguments, grad_mode)
        if there.on_cpu is None:
            there = there._replace(device_taint=max(there.device_taint, sent_there(arguments.get(0, "device"))))
        return there._replace(is_given=there.is_given and keeps_device(arguments))
    if name == "type" and (arguments.positional or arguments.named):
        return cast_by_type(receiver, arguments, grad_mode)
    if name in ("detach", "detach_"):
        tensor = as_tensor(receiver)
        if name == "detach":
            evidence = without(tensor.evidence, "grad")
            return tensor._replace(requires_grad=False, origins=frozenset(), evidence=evidence)  # its grad is its own
        is_sure = grad_mode is not False or tensor.requires_grad is False  # under inference_mode it does nothing
        return tensor._replace(requires_grad=False if is_sure else None)
    if name == "requires_grad_":
        truth = grad_asked_for(arguments)
        after = with_grad_set(as_tensor(receiver), truth)
        return after if truth is False else after._replace(is_given=False)
    if name in _REFUSE_GRAD:
        tensor = as_tensor(receiver)
        on_cpu = True if name in ("apply_", "map_") else tensor.on_cpu  # torch has them for the CPU alone
        return tensor._replace(requires_grad=False, on_cpu=on_cpu, evidence=without(tensor.evidence, "grad"))
    if name == "rename_":
        return receiver
    operator = torch_api.tensor_method(name)
    if operator is None:
        return None
    if name == "type_as":
        return sent_to(receiver, Arguments(arguments.positional[:1]), grad_mode)
    gives_shape = name in ("view_as", "expand_as", "reshape_as")  # of the other tensor nothing else is taken
    taken = Arguments(()) if gives_shape else arguments
    result = _apply(operator, _call_of(operator, taken, grad_mode, receiver))
    result = representation.of_method(receiver, name, arguments, result)
    if isinstance(result, Tensor):
        result = with_dimensions_known(name, receiver, arguments, result)
    source = arguments.get(0, "source")
    if name == "set_" and isinstance(result, Tensor) and isinstance(source, Tensor):
        has_none = tensor_facts(receiver)[1] is False and source.requires_grad is False
        result = result._replace(requires_grad=False if has_none else result.requires_grad)
    if name == "copy_" and isinstance(result, Tensor):
        result = result._replace(on_cpu=receiver.on_cpu)  # it takes from any device
    if name.endswith("_") and not name.endswith("__") and isinstance(receiver, Tensor) and isinstance(result, Tensor):
        result = _written_in_place(receiver, result)
    if "self" in operator.writes and isinstance(result, Tensor) and grad_mode is not True:
        # What is written in place while grad mode is off stays the leaf, or the part of a graph, that it was.
        grad = receiver.requires_grad if grad_mode is False else join_fact(result.requires_grad, receiver.requires_grad)
        return result._replace(requires_grad=grad)
    return result


def _written_in_place(tensor: Tensor, result: Tensor) -> Tensor:
    """What `tensor.set_(...)` gives: the tensor, which has kept its device and its dtype."""
    grad = False if is_integral(tensor.dtype) else result.requires_grad
    on_cpu = tensor.on_cpu if result.on_cpu is None else result.on_cpu
    origins = tensor.origins | result.origins
    return result._replace(on_cpu=on_cpu, dtype=tensor.dtype, requires_grad=grad, origins=origins)


def with_grad_set(tensor: Tensor, truth: Fact) -> Tensor:
    """The tensor after its `requires_grad` has been set."""
    is_unsure = truth is False and tensor.origins >= UNALTERABLE
    return tensor._replace(requires_grad=None if is_unsure else truth, is_given=truth is False and not is_unsure)


def call_torch_function(
    name: str,
    arguments: Arguments,
    grad_mode: Fact,
    default_on_cpu: Fact = True,
    evidence_of_default: AllEvidence = PROVED,
) -> Value | None:
    """The result of a function of torch; None where torch_api.json does not know it.

    `evidence_of_default` is what it rests on that what is made without a device is on the CPU.
    """
    if name in ("torch.broadcast_tensors", "torch.functional.broadcast_tensors"):
        return _broadcast(arguments, grad_mode)
    operator = torch_api.function(name)
    if operator is None:
        return representation.of_function(name, arguments, None)
    call = _call_of(operator, arguments, grad_mode)
    if operator.name in _FROM_DATA:
        operands = tuple(value for value in call.operands if not isinstance(value, (Sequence, Mapping)))
        if operator.name == "torch.tensor":
            operands = tuple(value for value in operands if not _is_other_data(value))
        call = call._replace(operands=operands, carriers=operands)
    if operator.name in _BETWEEN_BOUNDS:
        call = call._replace(operands=tuple(value for value in call.operands if isinstance(value, Tensor)))
    if operator.name == "torch.normal" and arguments.get(2, "size") is not None:
        call = call._replace(operands=(), carriers=())  # the overload with a size takes numbers
    is_made_here = not any(isinstance(value, (Tensor, Unknown)) for each in call.operands for value in members(each))
    is_made_here = is_made_here or operator.name in _FROM_DATA
    if default_on_cpu is not True and is_made_here and "device" in operator.takes:
        call = call._replace(arguments=on_default_device(arguments, default_on_cpu))
    result = _apply(operator, call)
    if evidence_of_default and is_made_here and "device" in operator.takes and _is_on_default(call.arguments):
        result = resting_on(result, evidence_of_default)
    if operator.name in _FROM_DATA and isinstance(result, Tensor) and _is_number(arguments):
        result = result._replace(is_number=True)
    if isinstance(result, Tensor):
        behind = arguments._replace(positional=arguments.positional[1:])
        result = with_dimensions_known(name, arguments.positional[0] if arguments.positional else None, behind, result)
    return representation.of_function(name, arguments, result)


def on_default_device(arguments: Arguments, is_cpu: Fact) -> Arguments:
    """The arguments of a call that makes something, with the device that it is made on where they name none."""
    if not _is_on_default(arguments):
        return arguments
    others = tuple(argument for argument in arguments.named if argument[0] != "device")
    return arguments._replace(named=(*others, ("device", Device(is_cpu))))


def _is_on_default(arguments: Arguments) -> bool:
    given = arguments.named_value("device")
    return given is None or same(given, NONE)


def _is_number(arguments: Arguments) -> bool:
    data = arguments.get(0, "data")
    return isinstance(data, Constant) and isinstance(data.value, (int, float, complex))


# What they make of a list is on the default device, wherever the tensors in it are; under `with torch.device(...)` a
# tensor is brought there too.
_FROM_DATA = frozenset(("torch.tensor", "torch.as_tensor", "torch.asarray"))


def _is_other_data(value: Value) -> bool:
    """Whether what torch.tensor is given is no tensor: it warns of one. Only who is called may be given anything."""
    return isinstance(value, Unknown) and value.on_cpu is None and value.reason is not Reason.PARAMETER


# Their bounds are numbers where nothing else is known of them: tensors are accepted since torch 2.1, and hardly given.
_BETWEEN_BOUNDS = frozenset(("torch.linspace", "torch.logspace"))


def _broadcast(arguments: Arguments, grad_mode: Fact) -> Sequence:
    """Views of the tensors given, each where its own tensor is: the one function that takes any devices together."""
    views: list[Value] = [
        value if grad_mode is True or value.requires_grad is False else value._replace(requires_grad=None)
        for value in arguments.positional
        if isinstance(value, Tensor)
    ]
    if len(views) < len(arguments.positional) or arguments.has_star:
        return Sequence(None, Unknown(Reason.LIBRARY))
    return sequence_of(views)


# Products of vectors and matrices, convolutions and spectra: torch refuses them of tensors without dimensions.
_OF_DIMENSIONS = frozenset(
    "matmul mm bmm mv dot vdot outer ger conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d"
    " stft istft".split()
)


# As those of a range, their bounds are numbers where nothing else is known of them.
_CLAMPING = frozenset("clamp clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clip clip_".split())


def with_dimensions(operand: Value) -> Value:
    """What has been taken for an operand of such an operator."""
    return operand._replace(is_number=False) if isinstance(operand, Tensor) else mapped(operand, with_dimensions)


def _call_of(
    operator: torch_api.Callable, arguments: Arguments, grad_mode: Fact, receiver: Tensor | Unknown | None = None
) -> OperatorCall:
    own: tuple[Value, ...] = () if receiver is None else (receiver,)
    places: list[tuple[int | str, Value]] = [*enumerate(arguments.positional, len(own)), *arguments.named]
    if not isinstance(arguments.starred, Nothing):
        places.append((len(own) + len(arguments.positional), arguments.starred))
    operands = tuple(value for place, value in places if operator.takes_tensor_at(place))
    carriers = tuple(value for place, value in places if operator.takes_grad_at(place))
    all_operands = (*own, *operands)
    name = operator.name.rpartition(".")[2]
    if name in _OF_DIMENSIONS:
        all_operands = tuple(map(with_dimensions, all_operands))
    elif name in _CLAMPING:
        all_operands = (*all_operands[:1], *(each for each in all_operands[1:] if may_be(each, Tensor)))
        carriers = tuple(value for value in carriers if value in all_operands)
    return OperatorCall(
        all_operands, (*own, *carriers), arguments, operator.takes, grad_mode, len(own), operator.may_reduce
    )


def _apply(operator: torch_api.Callable, call: OperatorCall) -> Value:
    arguments = call.arguments
    out = arguments.named_value("out")
    if isinstance(out, Tensor):
        return out
    if any(isinstance(operand, Nothing) for operand in call.operands):
        return NOTHING
    given: set[str] = set()
    unsure: set[str] = set()
    for parameter, position, counts in operator.deciders:
        value = (
            arguments.get(position - call.first_position, parameter)
            if position is not None
            else arguments.named_value(parameter)
        )
        switched_off = isinstance(value, Tensor) or (
            isinstance(value, Constant) and (value.value is None or value.value is False)
        )
        if value is None or (switched_off and counts != "any"):
            if arguments.has_star and value is None:
                unsure.add(parameter)
            continue
        (unsure if isinstance(value, (Unknown, Union)) else given).add(parameter)
    results = operator.results_given(frozenset(given), frozenset(unsure)) or operator.results
    return join_all(_result(result, call) for result in results)


def _result(result: torch_api.Result, call: OperatorCall) -> Value:
    outputs = tuple(_viewing(output, call) for output in result.outputs)
    if result.container == "tuple":
        return Sequence(outputs, join_all(outputs), result.fields)
    if result.container == "sequence":
        return Sequence(None, join_all(outputs))
    return outputs[0]
