"""Transfer functions of context managers and decorators: to the value bound and grad mode."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.grad_contexts import GRAD_CONTEXTS
from tonumpy.engine.names.bindings import arguments_of
from tonumpy.engine.values.environment import AUTOCAST, DEFAULT_DEVICE, GENERATOR_CONTEXT
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import (
    Arguments,
    BoundMethod,
    Class,
    Constant,
    Device,
    Function,
    Instance,
    LibraryObject,
    OtherFramework,
    Symbol,
    Unknown,
    Value,
)
from tonumpy.inference.transfer.autocast import dtype_of_autocast
from tonumpy.inference.transfer.grad_modes import mode_of_context, mode_of_objects
from tonumpy.inference.transfer.members import resolve
from tonumpy.text.names import last_name
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame


def _changes_mode(frame: Frame, mode: str) -> bool:
    """Whether a context manager that makes this of grad mode changes it; then it is changed."""
    if mode != "unchanged":
        frame.set_grad_mode(None if mode == "unknown" else mode == "on")
    return mode != "unchanged"


def enter_context(frame: Frame, node: ast.expr, *, evaluate_it: bool) -> Value:
    """What `with node as x` binds; grad mode is changed where the context manager does that."""
    if _changes_mode(frame, grad_mode_of_context(frame, node)):
        return Unknown(Reason.SYNTAX)
    if isinstance(node, ast.Call) and last_name(node.func) == "device":
        return _enter_device(frame, node)
    if isinstance(node, ast.Call) and last_name(node.func) == "autocast":
        frame.env.set(AUTOCAST, Constant(dtype_of_autocast(frame, node)))
        return Unknown(Reason.SYNTAX)
    if evaluate_it or _is_of_repository(frame, node):
        context = resolve(frame, frame.evaluator.expression(frame, node))
        if _changes_mode(frame, mode_of_objects(context)):
            return Unknown(Reason.SYNTAX)
        return join_all([_entered(frame, member) for member in members(context)])
    return Unknown(Reason.SYNTAX)


def _enter_device(frame: Frame, node: ast.Call) -> Value:
    """`with torch.device("cuda"):`, which is the device of what is made in the block."""
    device = frame.evaluator.expression(frame, node)
    if isinstance(device, Device):
        frame.env.set(DEFAULT_DEVICE, device)
    return device


def _is_of_repository(frame: Frame, node: ast.expr) -> bool:
    """Whether the function or class of a context is one that can be entered, and so may set grad mode itself."""
    if isinstance(node, ast.Name):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return False
    return isinstance(frame.evaluator.expression(frame, node.func), (Function, BoundMethod, Class))


def _entered(frame: Frame, context: Value) -> Value:
    """What a context of the repository's own binds; it may set grad mode before it does."""
    if isinstance(context, LibraryObject) and context.name == GENERATOR_CONTEXT and context.arguments is not None:
        yielded, mode = context.arguments.positional
        frame.set_grad_mode(mode.value if isinstance(mode, Constant) else None)
        return yielded
    method = frame.analysis.classes.method(context.cls, "__enter__") if isinstance(context, Instance) else None
    if method is None or isinstance(method.node, ast.Lambda):
        return context
    result = frame.analysis.functions.call_function(method, context, Arguments(()), frame.grad_mode)
    if any(isinstance(node, ast.expr) and last_name(node) in GRAD_CONTEXTS for node in walk(method.node)):
        frame.set_grad_mode(None)
    return result


def grad_mode_of_context(frame: Frame, node: ast.expr) -> str:
    """What a context manager or decorator makes of grad mode: "on", "off", "unknown" or "unchanged"."""
    if isinstance(node, ast.IfExp):
        modes = {grad_mode_of_context(frame, node.body), grad_mode_of_context(frame, node.orelse)}
        return modes.pop() if len(modes) == 1 else "unknown"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.IfExp):  # `(inference_mode if new else no_grad)()`
        chosen = (ast.Call(each, node.args, node.keywords) for each in (node.func.body, node.func.orelse))
        modes = {grad_mode_of_context(frame, each) for each in chosen}
        return modes.pop() if len(modes) == 1 else "unknown"
    function = node.func if isinstance(node, ast.Call) else node
    if not isinstance(function, (ast.Name, ast.Attribute)):
        return "unchanged"
    if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and frame.module.words.speaks_of_grad_mode):
        mode = mode_of_objects(frame.evaluator.expression(frame, node))
        if mode != "unchanged":
            return mode
    if not _may_be_grad_context(function):
        return "unchanged"
    arguments = arguments_of(node) if isinstance(node, ast.Call) else []
    given = frame.evaluator.expression(frame, arguments[0]) if arguments else None
    modes = {
        _mode_of_function(member, _name(function), given)
        for member in members(frame.evaluator.expression(frame, function))
    }
    return modes.pop() if len(modes) == 1 else "unknown"


def _mode_of_function(value: Value, written: str, given: Value | None) -> str:
    """What a function that is called for a context manager, or is used as a decorator, makes of grad mode."""
    name = value.name.rpartition(".")[2] if isinstance(value, Symbol) else written
    if isinstance(value, OtherFramework) or name not in GRAD_CONTEXTS:
        return "unchanged"
    return mode_of_context(name, given)


def _name(node: ast.Name | ast.Attribute) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def _may_be_grad_context(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node, ast.Name) or node.attr in GRAD_CONTEXTS
