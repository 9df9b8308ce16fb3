"""From a call's result that is unknown in part to what its arguments, its module or a test show of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.operands import result_facts
from tonumpy.engine.names.bindings import Import
from tonumpy.engine.values.aliases import unless_it_requires_grad
from tonumpy.engine.values.beliefs import left_on_cpu
from tonumpy.engine.values.evidence import joined
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    evidence_in,
    held_in,
    mapped,
    max_device_taint,
    may_be,
    members,
    resting_on,
    tensor_facts,
    with_facts,
)
from tonumpy.engine.values.values import (
    Arguments,
    Constant,
    Device,
    DeviceTaint,
    Instance,
    LibraryObject,
    Nothing,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.inference.transfer.devices import cpu_of_device
from tonumpy.inference.transfer.habit_heuristics import taken_for_data

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import Basis
    from tonumpy.inference.transfer.frame import Frame


def in_company(frame: Frame, arguments: Arguments, result: Value) -> Value:
    """What a method makes of data on the CPU and of what its object was given before: torch would have refused that
    elsewhere."""
    if arguments.has_star and not isinstance(arguments.starred, Nothing):
        return result
    # A number mixes with what is on any device.
    tensors = [each for each in held_in(*arguments.values()) if isinstance(each, Tensor) and not each.is_number]
    is_data = bool(tensors) and all(tensor_facts(each) == (True, False) for each in tensors)
    if not is_data:
        return result
    return _made_of_data(result, frame.habit("company-of-data", "all else that the method is given is data"))


def _made_of_data(value: Value, basis: Basis | None) -> Value:
    """Also what an object was made with that is given back: `Output(sample=x)`."""
    if isinstance(value, Tensor):
        return taken_for_data(value, basis)
    if isinstance(value, Instance) and value.arguments is not None:
        return value._replace(arguments=value.arguments.mapped(lambda part: _made_of_data(part, basis)))
    return mapped(value, lambda part: _made_of_data(part, basis))


def made_by(frame: Frame, module: Value, arguments: Arguments, result: Value) -> Value:
    """What a module makes of its arguments, where nothing else is known of the result: a module on the CPU makes it
    there of what is there, unless it sends it elsewhere itself, and a frozen one without grad of what has none."""
    if not isinstance(module, (Instance, LibraryObject, Unknown)) or arguments.has_star:
        return result
    if _is_frozen(frame, module) and result_facts(arguments.values(), True)[1] is False:
        result = unless_it_requires_grad(result)
    if not module.on_cpu or tensor_facts(result)[0] is not None or max_device_taint(members(result)):
        return result
    is_there = result_facts(arguments.values(), None, mixes=True)[0]
    return with_facts(result, on_cpu=True) if is_there else result


def _is_frozen(frame: Frame, module: Value) -> bool:
    """Whether it is a module of the repository whose parameters do not require grad."""
    return isinstance(module, Instance) and module.requires_grad is False and frame.analysis.kinds.is_module(module.cls)


def fresh(reason: Reason, frame: Frame, arguments: Arguments) -> Value:
    """The result of a call of which nothing is known: what is computed while grad mode is off does not require grad."""
    return left_where_it_was(frame, arguments, Unknown(reason, None, False if frame.grad_mode is False else None))


def left_where_it_was(frame: Frame, arguments: Arguments, result: Value) -> Value:
    """What a call gives, on the CPU where nobody speaks of any other device and it is made of what is there."""
    if tensor_facts(result)[0] is not None:
        return result
    given = arguments.all_values()
    if given is None or frame.module.words.names_other_devices:
        return result
    held = [each for each in held_in(*given) if may_be(each, (Tensor, Unknown))]
    # Not so of a tensor that may be elsewhere, nor of what is a tensor on the CPU or something unknown.
    if any(tensor_facts(each)[0] is not True for each in held if may_be(each, Tensor)):
        return result
    if not any(tensor_facts(each)[0] for each in held):
        return result
    basis = frame.habit("no-other-device", "the module names no other device, and the call is given what is on the CPU")
    return resting_on(left_on_cpu(result, basis), joined(map(evidence_in, given)))


def left_by_test(result: Value, basis: Basis | None) -> Value:
    """What the code under test gives where the test names no device but the CPU, but for what it has sent to one."""
    if isinstance(result, Unknown):
        return result  # it was not followed, and may have chosen a device by itself
    if isinstance(result, Tensor):
        return left_on_cpu(result, basis)
    return mapped(result, lambda part: left_by_test(part, basis))


def is_loaded_by_dataset(frame: Frame, value: Value) -> bool:
    """Whether it is what a Dataset's own method has loaded, which it then holds, be it for this item only."""
    if frame.owner is None or not isinstance(value, Unknown) or value.reason is not Reason.SAVED:
        return False
    return frame.analysis.kinds.is_dataset(frame.owner)


def imported(frame: Frame, name: Value | None, *, is_root: bool = False) -> Value:
    """The module that a call imports by its name, or the package that it is in."""
    if isinstance(name, Constant) and isinstance(name.value, str) and not name.value.startswith("."):
        module = name.value.partition(".")[0] if is_root else name.value
        return frame.analysis.names.import_value(frame.module, Import(module, 0, None))
    return Unknown(Reason.IMPORT)


def device_made(given: Value | None) -> Value:
    """`torch.device(given)`."""
    if isinstance(given, Device):
        return given
    if isinstance(given, Constant) and isinstance(given.value, str):
        kind = given.value.partition(":")[0]
        return Device(kind == "cpu", kind)
    is_cpu = None if given is None else cpu_of_device(given)
    return Device(is_cpu, device_taint=DeviceTaint.GIVEN if is_cpu is None else DeviceTaint.NONE)
