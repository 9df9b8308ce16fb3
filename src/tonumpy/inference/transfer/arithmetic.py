"""Transfer functions of Python's operators: from operand values to the result's value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.operands import combine
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import mapped, members
from tonumpy.engine.values.values import Tensor, Unknown, Value
from tonumpy.inference.transfer import representation
from tonumpy.inference.transfer.members import resolve
from tonumpy.inference.transfer.torch_operators import with_dimensions

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.transfer.frame import Frame


def operand_of(frame: Frame, node: ast.expr) -> Value:
    return resolve(frame, frame.evaluator.expression(frame, node))


# Torch has these for integers and booleans only.
_OF_INTEGERS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert)


def operate(operator: ast.operator | ast.unaryop, operands: tuple[Value, ...], grad_mode: Fact) -> Value:
    """What an operator makes of its operands."""
    if isinstance(operator, ast.MatMult):
        operands = tuple(map(with_dimensions, operands))
    result = combine(operands, grad_mode)
    if isinstance(result, Tensor):
        result = representation.of_operator(operator, operands, result)
    if not isinstance(operator, _OF_INTEGERS):
        return result
    parts = [part for operand in operands for part in members(operand)]
    if isinstance(operator, ast.BitOr) and not any(isinstance(part, Tensor) or _is_comparison(part) for part in parts):
        return result  # it may be a dict
    is_bool = all(isinstance(part, Tensor) and part.dtype == "bool" for part in parts)
    return as_integers(result, "bool" if is_bool else "integral")


def _is_comparison(value: Value) -> bool:
    return isinstance(value, Unknown) and value.reason is Reason.COMPARISON


def as_integers(result: Value, dtype: str) -> Value:
    """What a comparison, or an operator on bits, gives where arithmetic would make this of the operands."""
    if isinstance(result, Tensor):
        return result._replace(dtype=dtype, requires_grad=False)
    if isinstance(result, Unknown):
        return Unknown(Reason.COMPARISON, result.on_cpu, False, result.is_no_tensor)
    return mapped(result, lambda part: as_integers(part, dtype))
