"""From a condition to its truth, if that is constant here; None otherwise."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.grad_contexts import ASKS_FOR_GRAD_MODE
from tonumpy.engine.knowledge.methods import METHODS_OF_TEXT
from tonumpy.engine.values.values import NONE, Constant, Function, Instance, same
from tonumpy.inference.transfer.narrowing import decided_by_class
from tonumpy.text.names import last_name, path_of

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame


def constant_test(frame: Frame, test: ast.expr) -> bool | None:
    """Whether a condition is known to hold, or not to: a literal, TYPE_CHECKING, a flag whose value is in sight."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        known = constant_test(frame, test.operand)
        return None if known is None else not known
    if (
        isinstance(test, (ast.Name, ast.Attribute))
        and (test.id if isinstance(test, ast.Name) else test.attr) == "TYPE_CHECKING"
    ):
        return False
    if isinstance(test, ast.Name):
        value = frame.env.get(test.id)
        if isinstance(value, Constant) and isinstance(value.value, bool):
            return value.value
    if isinstance(test, ast.Attribute) and (flag := _flag_put_here(frame, test)) is not None:
        return flag
    if isinstance(test, (ast.Name, ast.Attribute)) and not frame.targets.calls:
        # What a call does not give, or the object was made without, is not there: `if self.transform:`.
        return False if same(frame.evaluator.expression(frame, test), NONE) else None
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)
        parts = [constant_test(frame, part) for part in test.values]
        return decisive if decisive in parts else None if None in parts else not decisive
    if isinstance(test, ast.Call) and last_name(test.func) in ASKS_FOR_GRAD_MODE:
        value = frame.evaluator.expression(frame, test)
        return value.value if isinstance(value, Constant) else None
    if isinstance(test, ast.Call) and (answer := _constant_in_sight(frame, test)) is not None:
        return bool(answer.value)
    if isinstance(test, ast.Call) and not frame.targets.calls:
        # Where a call is followed its arguments are believed; a function by itself may guard against others.
        return decided_by_class(frame, test)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _constant_comparison(frame, test)
    return None


def _flag_put_here(frame: Frame, test: ast.Attribute) -> bool | None:
    """`self.freeze`, which this body has made what it was given, and nothing else in sight ever writes."""
    if not isinstance(test.value, ast.Name):
        return None
    flag, owner = frame.env.get(f"{test.value.id}.{test.attr}"), frame.env.get(test.value.id)
    if not isinstance(flag, Constant) or not isinstance(flag.value, bool) or not isinstance(owner, Instance):
        return None
    writing = [writers for _, writers, _ in frame.analysis.classes.writers_in_all(owner.cls, test.attr)]
    is_written_once = len(writing) == 1 and len(writing[0].assigning) == 1 and not writing[0].changing
    return flag.value if is_written_once and not owner.cls.module.text.says("writes", test.attr) else None


def _constant_comparison(frame: Frame, test: ast.Compare) -> bool | None:
    """`device == "auto"` where the device is a literal that the caller passed; `mode is None` where it is one."""
    operator = test.ops[0]
    is_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
    if not isinstance(operator, (ast.Eq, ast.NotEq)) and not (is_none and isinstance(operator, (ast.Is, ast.IsNot))):
        return None
    are_equal = _are_equal(frame, test.left, test.comparators[0])
    return None if are_equal is None else are_equal is isinstance(operator, (ast.Eq, ast.Is))


def _are_equal(frame: Frame, left: ast.expr, right: ast.expr) -> bool | None:
    expected = _constant_in_sight(frame, right)  # most often a literal, or else no constant at all
    if expected is None:
        return None
    if expected == NONE and isinstance(left, ast.Name) and isinstance(frame.env.get(left.id), Function):
        return False
    found = _constant_in_sight(frame, left)
    return None if found is None else found == expected


def _constant_in_sight(frame: Frame, node: ast.expr) -> Constant | None:
    if isinstance(node, ast.Constant):
        return Constant(node.value)
    if isinstance(node, (ast.Name, ast.Attribute)):
        if isinstance(node, ast.Attribute) and frame.env.get(path_of(node) or "") is None:
            holder = frame.evaluator.expression(frame, node.value)
            if isinstance(holder, Instance) and frame.analysis.classes.is_computed(holder, node.attr):
                return None
        value = frame.evaluator.expression(frame, node)
        return value if isinstance(value, Constant) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS_OF_TEXT:
        if _constant_in_sight(frame, node.func.value) is None:
            return None
        value = frame.evaluator.expression(frame, node)
        return value if isinstance(value, Constant) else None
    return None
