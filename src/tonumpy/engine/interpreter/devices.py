"""Moves and casts tensors and modules: `.to`, `.cuda`, `.half`, `torch.device`."""

from __future__ import annotations

import ast

from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import is_integral
from tonumpy.engine.values.evidence import without
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    dtype_of,
    members,
    truth_of,
)
from tonumpy.facts import Fact
from tonumpy.text.names import ACCELERATORS, is_dtype
from tonumpy.text.syntax import walk

CASTS = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16"}
TENSOR_TYPES = {
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

# In a file that contains this, a frozen module may be unfrozen later.
THAWS = r"requires_grad_\((?:True)?\)|requires_grad[ \t]*=[ \t]*True|unfreeze"


def may_move_modules(frame: Frame) -> bool:
    """True if the current body moves anything: a module built there may be moved by an alias or as a part."""
    return frame.module.derived(_moves, frame.node)


def _moves(body: ast.AST) -> bool:
    for each in walk(body):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
            is_to = each.func.attr == "to" and not all(map(is_dtype, each.args))
            if is_to or each.func.attr in ACCELERATORS:
                return True
    return False


def as_tensor(value: v.Tensor | v.Unknown) -> v.Tensor:
    """The value as a tensor; an Unknown becomes a likely one, because of its use."""
    if isinstance(value, v.Tensor):
        return value
    made = v.Tensor(value.on_cpu, value.requires_grad, None, "likely", evidence=value.evidence)
    return made._replace(device_taint=value.device_taint, param_taint=value.param_taint)


def cpu_of_device(value: v.Value | None) -> Fact:
    """Whether a `device` argument is the CPU."""
    if isinstance(value, v.Union):
        found = {cpu_of_device(member) for member in value.members}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, v.Device):
        return value.is_cpu
    if isinstance(value, v.Tensor):
        return value.on_cpu
    if isinstance(value, v.Constant):
        if isinstance(value.value, str):
            return value.value.partition(":")[0] == "cpu"
        if isinstance(value.value, int) and not isinstance(value.value, bool):
            return False
    return None


def sent_there(device: v.Value | None) -> v.DeviceTaint:
    """The device taint of a tensor that is sent to `device`."""
    if isinstance(device, v.Union):
        if any(cpu_of_device(member) is False for member in device.members):
            return v.DeviceTaint.CHOSEN
        return max(
            (sent_there(each) for each in device.members if each != v.NonTensor("str")), default=v.DeviceTaint.NONE
        )
    if isinstance(device, (v.Device, v.Tensor)):
        return device.device_taint
    if isinstance(device, v.NonTensor):
        return v.DeviceTaint.NONE if _is_no_device(device) or device.what == "attribute" else v.DeviceTaint.GIVEN
    is_named = isinstance(device, v.Unknown) and device.reason is Reason.DEVICE_ATTRIBUTE
    return v.DeviceTaint.GIVEN if is_named else v.DeviceTaint.NONE


def _is_no_device(value: v.Value) -> bool:
    if isinstance(value, v.Constant):
        return value.value is None or isinstance(value.value, bool)
    if isinstance(value, v.NonTensor):
        return value.what in ("dtype", "bool")
    return dtype_of(value) is not None


def device_after_to(before: Fact, arguments: v.Arguments) -> Fact:
    """Whether a tensor or module is on the CPU after `.to(...)`, in any spelling."""
    if arguments.has_star:
        return None
    given = arguments.named_value("device")
    for value in arguments.positional[:2]:
        if given is None and not all(map(_is_no_device, members(value))):
            given = value
    if given is None:
        return before
    found = {before if _is_no_device(each) else cpu_of_device(each) for each in members(given)}
    return found.pop() if len(found) == 1 else None


def device_made(given: v.Value | None) -> v.Value:
    """The value of `torch.device(given)`."""
    if isinstance(given, v.Device):
        return given
    if isinstance(given, v.Constant) and isinstance(given.value, str):
        kind = given.value.partition(":")[0]
        return v.Device(kind == "cpu", kind, v.DeviceTaint.NONE if kind == "cpu" else v.DeviceTaint.CHOSEN)
    cpu = None if given is None else cpu_of_device(given)
    taint = max(sent_there(given), v.DeviceTaint.GIVEN) if cpu is None else v.DeviceTaint.NONE
    return v.Device(cpu, device_taint=taint)


def moved_module(
    frame: Frame, owner: v.LibraryObject | v.Instance, name: str, arguments: v.Arguments
) -> v.LibraryObject | v.Instance:
    """The module after `.cuda()`, `.to(...)`, `.half()` or `.requires_grad_(...)`."""
    if name in CASTS:
        return owner._replace(dtype=CASTS[name])
    if name == "cpu":
        return owner._replace(on_cpu=True, device_taint=v.DeviceTaint.NONE)
    if name in ACCELERATORS:
        return owner._replace(on_cpu=False, device_taint=v.DeviceTaint.CHOSEN)
    if name == "to":
        given = (*arguments.positional[:2], arguments.named_value("dtype"))
        dtype = next((found for each in given if (found := dtype_of(each))), owner.dtype)
        cpu = device_after_to(owner.on_cpu, arguments)
        taint = v.DeviceTaint.NONE if cpu else v.DeviceTaint.CHOSEN
        if cpu is None:
            taint = max(owner.device_taint, sent_there(arguments.get(0, "device")))
        return owner._replace(on_cpu=cpu, device_taint=taint, dtype=dtype)
    if name in ("requires_grad_", "freeze", "unfreeze", "detach"):
        asked = grad_asked(arguments) if name == "requires_grad_" else name == "unfreeze"
        if asked is False and frame.module.source.says(THAWS):
            asked = None  # it may be unfrozen again, as a whole or in parts
        return owner._replace(requires_grad=asked)
    return owner


def grad_asked(arguments: v.Arguments) -> Fact:
    given = arguments.get(0, "requires_grad")
    return True if given is None else truth_of(given)


def moved(receiver: v.Tensor | v.Unknown, on_cpu: Fact, dtype: str | None, mode: Fact) -> v.Tensor:
    """The tensor on a device and of a dtype. If that changes nothing it is the same tensor, and keeps its grad under
    no_grad too."""
    tensor = as_tensor(receiver)
    dtype = dtype or tensor.dtype
    is_itself = tensor.on_cpu is True and on_cpu is True and dtype == tensor.dtype
    grad: Fact = tensor.requires_grad
    if is_integral(dtype):
        grad = False
    elif grad is not False and mode is not True and not is_itself:
        is_copy = None not in (tensor.on_cpu, on_cpu) and tensor.on_cpu is not on_cpu
        grad = False if is_copy and mode is False else None
    taint = v.DeviceTaint.NONE if on_cpu else tensor.device_taint
    if on_cpu is False and tensor.on_cpu is not False:
        taint = v.DeviceTaint.CHOSEN
    bit = tensor.bit if dtype == tensor.dtype and tensor.on_cpu is not False else None  # a copy off a device has none
    return tensor._replace(on_cpu=on_cpu, dtype=dtype, requires_grad=grad, device_taint=taint, bit=bit)


def sent_to(receiver: v.Tensor | v.Unknown, arguments: v.Arguments, mode: Fact) -> v.Tensor:
    """The tensor after `.to(device)`, `.to(dtype)`, `.to(device, dtype)` or `.to(other)`, in any spelling."""
    tensor = as_tensor(receiver)
    ruled_out: Fact = False if tensor.requires_grad is False else None
    if arguments.has_star:
        return tensor._replace(on_cpu=None, dtype=None, requires_grad=ruled_out)
    asked = arguments.named_value("dtype")
    dtype = dtype_of(asked)
    keeps_dtype = asked is None
    for value in arguments.positional[:2]:
        if isinstance(value, v.Tensor):
            there = moved(receiver, value.on_cpu, value.dtype, mode)
            there = there._replace(device_taint=max(there.device_taint, value.device_taint))
            return there if value.dtype else there._replace(dtype=None, requires_grad=ruled_out)
        if dtype_of(value) is not None:
            dtype, keeps_dtype = dtype_of(value), False
        elif isinstance(value, (v.Unknown, v.NonTensor)) and not is_integral(tensor.dtype):
            keeps_dtype = keeps_dtype and not (isinstance(value, v.Unknown) or value.what == "dtype")
    cpu = device_after_to(tensor.on_cpu, arguments)
    if tensor.evidence and device_after_to(None, arguments) is not None:
        receiver = tensor = tensor._replace(evidence=without(tensor.evidence, "device"))
    if not keeps_dtype and dtype is None:
        there = tensor._replace(on_cpu=cpu, dtype=None, requires_grad=ruled_out)
    else:
        there = moved(receiver, cpu, dtype, mode)
    if there.on_cpu is None:
        there = there._replace(device_taint=max(there.device_taint, sent_there(arguments.get(0, "device"))))
    return there._replace(is_given=there.is_given and device_after_to(True, arguments) is True)


def cast_by_type(receiver: v.Tensor | v.Unknown, arguments: v.Arguments, mode: Fact) -> v.Tensor:
    tensor = as_tensor(receiver)
    asked = arguments.get(0, "dtype")
    if (dtype := dtype_of(asked)) is not None:
        return moved(receiver, tensor.on_cpu, dtype, mode)
    name = asked.name if isinstance(asked, v.Symbol) else asked.value if isinstance(asked, v.Constant) else None
    if isinstance(name, str) and (found := TENSOR_TYPES.get(name.rpartition(".")[2])):
        return moved(receiver, not name.startswith("torch.cuda."), found, mode)
    cpu = tensor.on_cpu if isinstance(asked, v.NonTensor) and asked.what == "dtype" else None
    return tensor._replace(on_cpu=cpu, dtype=None, requires_grad=False if tensor.requires_grad is False else None)
