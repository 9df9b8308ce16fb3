"""Transfer functions of `torch.autocast`: from an operation inside such a block to the dtype of its result.

Only of blocks that cast to bfloat16: NumPy has float16. knowledge/torch_autocast.json tells which operations are cast.
"""

from __future__ import annotations

from tonumpy.inference.knowledge.torch_autocast import autocast
from tonumpy.inference.lattice.dtypes import is_integral
from tonumpy.inference.lattice.environment import AUTOCAST
from tonumpy.inference.lattice.values import NOTHING, Constant, Device, Symbol, Tensor, Value, dtype_of
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from tonumpy.inference.lattice.values import Arguments
    from tonumpy.inference.transfer.frame import Frame

_CONTEXTS = ("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast", "torch.cpu.amp.autocast")


def enter(frame: Frame, outer: Frame, node: ast.Call) -> None:
    """`with torch.autocast(...)`, or that as a decorator, which is evaluated in the frame around the function."""
    function = outer.evaluator.expression(outer, node.func)
    if isinstance(function, Symbol) and function.name in _CONTEXTS:
        _enter(frame, function.name, outer.evaluator.arguments(outer, node))


def _enter(frame: Frame, context: str, arguments: Arguments) -> None:
    is_of_one_device = context.endswith("amp.autocast") and context != "torch.amp.autocast"
    enabled = arguments.named_value("enabled")
    dtype = arguments.get(1, "dtype")
    device = Constant(context.split(".")[1]) if is_of_one_device else arguments.get(0, "device_type")
    is_cpu = device == Constant("cpu") if isinstance(device, Constant) else None
    is_narrow = dtype_of(dtype) == "bfloat16" if dtype is not None else is_cpu
    is_on = enabled is None or enabled == Constant(True)
    if is_of_one_device and arguments.positional:
        is_on = arguments.positional[0] == Constant(True)
    frame.env.set(AUTOCAST, Device(is_cpu) if is_narrow and is_on and not arguments.has_star else NOTHING)


def cast(frame: Frame, operation: str, operands: Iterable[Value], result: Value) -> Value:
    """The result of an operation by its own name, without the module's or class's."""
    where = frame.env.get(AUTOCAST)
    if not isinstance(result, Tensor) or not isinstance(where, Device):
        return result
    effects = autocast(where.is_cpu)
    if operation in effects.narrowed:
        dtypes = {operand.dtype for operand in operands if isinstance(operand, Tensor)}
        is_left = any(is_integral(dtype) or dtype in ("float64", "double") for dtype in dtypes)
        return result if is_left else result._replace(dtype="bfloat16")
    is_changed = operation in effects.changed and result.dtype == "bfloat16"
    return result._replace(dtype=None) if is_changed else result
