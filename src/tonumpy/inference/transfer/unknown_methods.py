"""Transfer functions of methods of values of unknown kind: which names only tensors have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.methods import GIVE_NO_TENSOR, OF_CONTAINERS
from tonumpy.engine.knowledge.operands import result_facts
from tonumpy.engine.values.aliases import unless_it_requires_grad
from tonumpy.engine.values.evidence import only
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import believed, dtype_of
from tonumpy.engine.values.values import (
    NONE,
    Arguments,
    Constant,
    LibraryObject,
    Mapping,
    NonTensor,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.inference.habits import collate_function
from tonumpy.inference.transfer import python_builtins
from tonumpy.inference.transfer.call_results import (
    fresh,
)
from tonumpy.inference.transfer.devices import keeps_device
from tonumpy.inference.transfer.members import under_key
from tonumpy.inference.transfer.torch_operators import (
    TORCH_WORDS,
    call_tensor_method,
)

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame

_SORTING = ("sort", "argsort")
# What a method of a container gives a part of, by the name of the method.
_OUT_OF_CONTAINER = {
    "get": Reason.TAKEN_OUT,
    "pop": Reason.TAKEN_OUT,
    "popitem": Reason.TAKEN_OUT,
    "items": Reason.ITEM,
}


def call_unknown(frame: Frame, receiver: Unknown, name: str, arguments: Arguments) -> Value:
    """A method of a value of unknown kind. Where only torch says so, words of torch are believed."""
    if name in GIVE_NO_TENSOR:
        is_array = name == "numpy" and frame.module.frameworks.only_torch_says
        return NonTensor(f"result of {name}", 0 if is_array else None)
    if name in OF_CONTAINERS:
        return _part_of_container(frame, receiver, name, arguments)
    if name == "split" and _is_of_text(arguments):
        return Sequence(None, NonTensor("str"))
    if collate_function.is_meant(name):
        basis = frame.habit("collate-function", f"`{name}` is called as what makes a batch")
        return believed(Unknown(Reason.LIBRARY), basis, on_cpu=True, requires_grad=False)
    if name in ("eval", "train") and not arguments.values() and frame.module.frameworks.only_torch_says:
        return LibraryObject("torch.nn.Module", receiver.on_cpu, evidence=only(receiver.evidence, "device"))
    if name == "state_dict" and frame.module.frameworks.only_torch_says:
        # Detached, unless keep_vars asks otherwise.
        return Mapping((), Tensor(receiver.on_cpu, False, evidence=only(receiver.evidence, "device")))
    if receiver.is_no_tensor and torch_api.tensor_method(name) is not None:
        return Unknown(receiver.reason, None, None, is_no_tensor=True)  # a method that is called as one of a tensor's
    if torch_api.tensor_method(name) is None and name not in ("cpu", "cuda", "to", "detach"):
        is_data = receiver.reason is Reason.DATASET and result_facts(arguments.values(), True, mixes=True)[1] is False
        made = fresh(Reason.METHOD, frame, arguments)
        return unless_it_requires_grad(made) if is_data else made
    result = call_tensor_method(receiver, name, arguments, frame.grad_mode)
    if result is None:
        return fresh(Reason.of_method(name), frame, arguments)
    return _believed(frame, receiver, name, arguments, result) if isinstance(result, Tensor) else result


def _part_of_container(frame: Frame, receiver: Unknown, name: str, arguments: Arguments) -> Value:
    inner = receiver._replace(reason=_OUT_OF_CONTAINER.get(name, Reason.CONTENT), is_no_tensor=False)
    if receiver.reason is Reason.SAVED and name != "copy":
        inner = receiver._replace(requires_grad=False)
    if name == "copy":
        inner = inner._replace(is_no_tensor=True)  # which has no such method
    if name == "items":
        return Sequence(None, Sequence((NonTensor("key"), inner), inner))
    if name in ("get", "pop") and arguments.positional:
        if any(map(python_builtins.is_option, arguments.positional[1:])):
            return NonTensor("number")
        return under_key(frame, inner, inner, arguments.positional[0])
    return Sequence(None, inner) if name == "values" else inner


def _believed(frame: Frame, receiver: Unknown, name: str, arguments: Arguments, result: Tensor) -> Value:
    """What a method of a tensor would give: a tensor if the method speaks of torch alone, else what is known of it."""
    frameworks = frame.module.frameworks
    named = arguments.named_value("dim") or (name in _SORTING and arguments.named_value("descending"))
    speaks_torch = name in TORCH_WORDS or bool(named) or _is_cast(name, arguments)
    if (name == "cpu" and not frameworks.speaks_of_torch) or (
        name in ("cpu", "cuda", "detach") and frameworks.hands_out_wrappers
    ):
        speaks_torch = False  # wrappers of results have a `cpu` and a `numpy` too
    if speaks_torch and frameworks.only_torch_says:
        is_shared = name in frameworks.shared_words and not _is_in_a_module(frame)
        return result._replace(certainty="possible" if is_shared else "likely")
    is_obscure = receiver.reason is Reason.DATASET or (name == "to" and not keeps_device(arguments))
    reason = Reason.of_method(name) if is_obscure else receiver.reason
    facts = result.on_cpu, result.requires_grad
    return Unknown(
        reason, *facts, evidence=result.evidence, device_taint=result.device_taint, param_taint=result.param_taint
    )


def _is_cast(method: str, arguments: Arguments) -> bool:
    """`x.to(torch.bfloat16)`, `x.to(device, torch.half)`, `x.type(torch.long)`: to a dtype of torch."""
    given = (*arguments.positional[:2], arguments.named_value("dtype"))
    return method in ("to", "type") and any(dtype_of(each) is not None for each in given)


def _is_of_text(arguments: Arguments) -> bool:
    """`split()`, `split(",")`: that of a tensor is told a size."""
    separator = arguments.get(0, "sep")
    if separator is None:
        return not arguments.has_star and arguments.named_value("split_size") is None
    return isinstance(separator, Constant) and (separator == NONE or isinstance(separator.value, str))


def _is_in_a_module(frame: Frame) -> bool:
    """Whether a method of a torch.nn.Module is being looked at: it works on torch's tensors."""
    return frame.owner is not None and frame.analysis.kinds.is_module(frame.owner)
