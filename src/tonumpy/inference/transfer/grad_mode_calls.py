"""Calls that stand as statements and set the grad mode, or enter a context that does."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.values.environment import GRAD_MODE
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.values import (
    NOTHING,
    LibraryObject,
    Value,
)
from tonumpy.inference.transfer.contexts import enter_context
from tonumpy.inference.transfer.expressions import evaluate

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame


def set_grad_mode(frame: Frame, call: ast.Call) -> None:
    """`torch.set_grad_enabled(flag)` as a statement holds from there on, and in the handlers of what is raised after.

    So does, until its stack is left, `stack.enter_context(torch.no_grad())`.
    """
    enter_context(frame, call.args[0] if enters_in_stack(frame, call) else call, evaluate_it=False)
    _set_state(frame, GRAD_MODE, frame.env.get(GRAD_MODE) or NOTHING)


def _set_state(frame: Frame, state: str, value: Value) -> None:
    frame.env.set(state, value)
    for journal in frame.control.journals:
        journal[state] = join(journal.get(state, NOTHING), value)


def enters_in_stack(frame: Frame, call: ast.Call) -> bool:
    """`stack.enter_context(...)` in a block `with contextlib.ExitStack() as stack:`."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "enter_context" or len(call.args) != 1:
        return False
    stack = evaluate(frame, function.value)
    return isinstance(stack, LibraryObject) and stack.name == "contextlib.ExitStack"
