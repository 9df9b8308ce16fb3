"""Transfer functions of `.to(...)`, `.cpu()`, `.type(...)`: from a tensor and arguments to its new device and dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.values.dtypes import is_integral
from tonumpy.engine.values.evidence import without
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import dtype_of, members
from tonumpy.engine.values.values import (
    Arguments,
    Constant,
    Device,
    DeviceTaint,
    NonTensor,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from tonumpy.facts import Fact


def as_tensor(receiver: Tensor | Unknown) -> Tensor:
    if isinstance(receiver, Tensor):
        return receiver
    facts = receiver.on_cpu, receiver.requires_grad
    return Tensor(
        *facts,
        None,
        "likely",
        device_taint=receiver.device_taint,
        evidence=receiver.evidence,
        param_taint=receiver.param_taint,
    )


def moved(receiver: Tensor | Unknown, on_cpu: Fact, dtype: str | None, grad_mode: Fact) -> Tensor:
    """A tensor on another device or of another dtype. It keeps its grad where it is itself, under no_grad too."""
    tensor = as_tensor(receiver)
    dtype = dtype or tensor.dtype
    may_be_itself = tensor.on_cpu is not False and on_cpu is True and dtype == tensor.dtype
    return tensor._replace(
        on_cpu=on_cpu,
        dtype=dtype,
        requires_grad=_grad_after_move(tensor, on_cpu, dtype, grad_mode),
        bit=tensor.bit if may_be_itself else None,  # a copy has none
        device_taint=_sent_on(tensor, on_cpu),
    )


def _sent_on(tensor: Tensor, on_cpu: Fact) -> DeviceTaint:
    if on_cpu is True:
        return DeviceTaint.NONE
    return DeviceTaint.CHOSEN if on_cpu is False and tensor.on_cpu is not False else tensor.device_taint


def _grad_after_move(tensor: Tensor, on_cpu: Fact, dtype: str | None, grad_mode: Fact) -> Fact:
    if is_integral(dtype) or tensor.requires_grad is False:
        return False
    if grad_mode is True or (tensor.on_cpu is True and on_cpu is True and dtype == tensor.dtype):
        return tensor.requires_grad
    is_copy = None not in (tensor.on_cpu, on_cpu) and tensor.on_cpu is not on_cpu
    return False if is_copy and grad_mode is False else None


# A tensor type is a dtype and a device: https://docs.pytorch.org/docs/stable/tensors.html#data-types
_OF_TENSOR_TYPES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}


def cast_by_type(receiver: Tensor | Unknown, arguments: Arguments, grad_mode: Fact) -> Tensor:
    """`.type(torch.float32)` is a cast; `.type(torch.cuda.FloatTensor)` moves the tensor as well."""
    tensor = as_tensor(receiver)
    asked = arguments.get(0, "dtype")
    dtype = None if asked is None else dtype_of(asked)
    if dtype is not None:
        return moved(receiver, tensor.on_cpu, dtype, grad_mode)
    name = asked.name if isinstance(asked, Symbol) else asked.value if isinstance(asked, Constant) else None
    if isinstance(name, str) and name.removeprefix("torch.").removeprefix("cuda.") in _OF_TENSOR_TYPES:
        is_cpu = not name.startswith("torch.cuda.")
        return moved(receiver, is_cpu, _OF_TENSOR_TYPES[name.rpartition(".")[2]], grad_mode)
    on_cpu = tensor.on_cpu if isinstance(asked, NonTensor) and asked.what == "dtype" else None
    return tensor._replace(on_cpu=on_cpu, dtype=None, requires_grad=False if tensor.requires_grad is False else None)


def sent_to(receiver: Tensor | Unknown, arguments: Arguments, grad_mode: Fact) -> Tensor:
    """`.to(device)`, `.to(dtype)`, `.to(device, dtype)`, `.to(other)` in any spelling."""
    tensor = as_tensor(receiver)
    # Integers lose a grad, and copies made under no_grad.
    unless_ruled_out: Fact = False if tensor.requires_grad is False else None
    if arguments.has_star:
        return tensor._replace(on_cpu=None, dtype=None, requires_grad=unless_ruled_out)
    asked = arguments.named_value("dtype")
    dtype = None if asked is None else dtype_of(asked)
    keeps_dtype = asked is None
    for value in arguments.positional[:2]:
        if isinstance(value, Tensor):
            dtype = value.dtype or (tensor.dtype if is_integral(tensor.dtype) else None)
            there = moved(receiver, value.on_cpu, dtype, grad_mode)
            return there if dtype else there._replace(dtype=None, requires_grad=unless_ruled_out)
        if dtype_of(value) is not None:
            dtype, keeps_dtype = dtype_of(value), False
        elif _may_be_dtype(value, of_integers=is_integral(tensor.dtype)):
            keeps_dtype = False
    cpu = device_after_to(tensor.on_cpu, arguments)
    if tensor.evidence and device_after_to(None, arguments) is not None:
        receiver = tensor = tensor._replace(evidence=without(tensor.evidence, "device"))  # whatever it was before
    if not keeps_dtype and dtype is None:
        return tensor._replace(on_cpu=cpu, dtype=None, requires_grad=unless_ruled_out)
    return moved(receiver, cpu, dtype, grad_mode)


def _may_be_dtype(value: Value, *, of_integers: bool) -> bool:
    """Whether what is none in sight may be a dtype (of integers: hardly ever); `device or "cuda"` is not."""
    if isinstance(value, Union):
        return not of_integers and not all(isinstance(part, (Device, Constant)) for part in value.members)
    return (isinstance(value, Unknown) and not of_integers) or (isinstance(value, NonTensor) and value.what == "dtype")


def is_of_no_tensor(arguments: Arguments) -> bool:
    """Whether `.to(...)` is told what no tensor is: attributes of a graph of PyTorch Geometric, `data.to(device, "x")`,
    or the unit of a quantity, `angle.to("rad")`."""
    asked = arguments.get(0, "device")
    words = [each.value for each in (asked, *arguments.positional[1:]) if isinstance(each, Constant)]
    texts = [word for word in words if isinstance(word, str)]
    return any(text.partition(":")[0] not in torch_api.device_types() for text in texts)


def keeps_device(arguments: Arguments) -> bool:
    """Whether `.to(...)` with these arguments leaves what is on the CPU there."""
    return device_after_to(True, arguments) is True


def device_after_to(before: Fact, arguments: Arguments) -> Fact:
    """Whether a tensor or module is on the CPU after `.to(...)` with these arguments, in any spelling."""
    if arguments.has_star:
        return None
    given = arguments.named_value("device")
    for value in arguments.positional[:2]:
        if given is None and not all(map(_is_no_device, members(value))):
            given = value
    if given is None:
        return before
    found = {before if _is_no_device(each) else _device_of(each) for each in members(given)}
    return found.pop() if len(found) == 1 else None


def _is_no_device(value: Value) -> bool:
    """None, a flag or a dtype as an argument of `.to(...)`."""
    if isinstance(value, Constant):
        return value.value is None or isinstance(value.value, bool)
    if isinstance(value, NonTensor):
        return value.what in ("dtype", "bool")  # a text or a number names a device: `f"cuda:{rank}"`
    return dtype_of(value) is not None


def _device_of(given: Value) -> Fact:
    return given.on_cpu if isinstance(given, Tensor) else cpu_of_device(given)


def cpu_of_device(value: Value | None) -> Fact:
    """Whether a `device` argument means the CPU; None if unknown."""
    if isinstance(value, Union):
        found = {cpu_of_device(member) for member in value.members}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, Device):
        return value.is_cpu
    if isinstance(value, Constant):
        if isinstance(value.value, str):
            return value.value.partition(":")[0] == "cpu"
        if isinstance(value.value, int) and not isinstance(value.value, bool):
            return False  # the number of an accelerator
    return None


def sent_there(device: Value | None) -> DeviceTaint:
    """The device taint of a tensor that is sent to `device`."""
    if isinstance(device, Union):
        is_choice = any(cpu_of_device(member) is False for member in device.members)
        # A mere text is what an annotation allows: `device: str | torch.device | None = None` need not send anything.
        told = (sent_there(each) for each in device.members if each != NonTensor("str"))
        return DeviceTaint.CHOSEN if is_choice else max(told, default=DeviceTaint.NONE)
    if isinstance(device, Device):
        return device.device_taint
    if isinstance(device, NonTensor):
        # `sys.argv[1]`, and what is annotated as a text; an attribute may be a dtype.
        is_asked = not _is_no_device(device) and device.what != "attribute"
        return DeviceTaint.GIVEN if is_asked else DeviceTaint.NONE
    return (
        DeviceTaint.GIVEN
        if isinstance(device, Unknown) and device.reason is Reason.DEVICE_ATTRIBUTE
        else DeviceTaint.NONE
    )
