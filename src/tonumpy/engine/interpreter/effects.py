"""Effects of calls on receivers and arguments, and results of callees that are named like a model or a loss."""

from __future__ import annotations

import ast
import re

from tonumpy.engine.interpreter import containers, library
from tonumpy.engine.interpreter.devices import CASTS, moved_module
from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.torch_calls import REFUSING_GRAD, without_grad
from tonumpy.engine.names.bindings import Import, arguments_of, given_to, parameter_names
from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import is_integral
from tonumpy.engine.values.joins import join, join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    have_param_taint,
    join_fact,
    max_device_taint,
)
from tonumpy.text.names import ACCELERATORS, last_name
from tonumpy.text.syntax import walk

_MOVES = ACCELERATORS | {"to", "cpu"}
_MODELS = frozenset("model net network".split())
_LOSS = re.compile(r"(^|_)(criterion|loss(_(fn|fun|func|function))?)$")
_IN_PLACE = frozenset((*_MOVES, *CASTS, "requires_grad_", "freeze", "unfreeze"))
_GIVING_GRAD = frozenset("requires_grad_ add_ sub_ mul_ div_ copy_ set_ index_add_ index_copy_ scatter_ lerp_".split())
_FILLING = frozenset("append insert extend update add_module register_module".split())


def change_receiver(
    frame: Frame, function: ast.Attribute, receiver: v.Value, arguments: v.Arguments, result: v.Value
) -> None:
    """Update the receiver of a method that changes it: `rows.append(x)`, `net.cuda()`, `x.requires_grad_()`."""
    after = _changed(frame, receiver, function.attr, arguments, result)
    if isinstance(after, v.Instance) and isinstance(function.value, ast.Name):
        _move_parts(frame, function.value.id, after)
    elif after is not None and isinstance(function.value, (ast.Name, ast.Attribute, ast.Subscript)):
        frame.analysis.assign(frame, function.value, after)
        if isinstance(function.value, ast.Name):
            frame.changed(function.value.id)


def _changed(frame: Frame, receiver: v.Value, name: str, arguments: v.Arguments, result: v.Value) -> v.Value | None:
    """The receiver after a method; None if the method does not change it."""
    if isinstance(receiver, (v.Sequence, v.Mapping)):
        return containers.changed(frame, receiver, name, arguments)
    if isinstance(receiver, v.Union) and name in ("append", "extend", "update", "add"):
        return join_all(_changed(frame, each, name, arguments, v.NOTHING) or each for each in receiver.members)
    if isinstance(receiver, (v.Tensor, v.Unknown)) and name in REFUSING_GRAD:
        return without_grad(receiver, name)
    if isinstance(receiver, v.Tensor):
        return _changed_tensor(receiver, name, result)
    if isinstance(receiver, v.LibraryObject) and receiver.name in library.CONTAINERS and name in _FILLING:
        return _filled(receiver, arguments)
    if name in _IN_PLACE and isinstance(receiver, (v.LibraryObject, v.Instance)):
        return _moved(frame, receiver, name, arguments, result)
    return None


def _changed_tensor(tensor: v.Tensor, name: str, result: v.Value) -> v.Value | None:
    if name == "backward" and tensor.requires_grad is None:
        return tensor._replace(requires_grad=True)  # it raises on a tensor without grad
    is_in_place = name.endswith("_") and not name.endswith("__")
    return result if is_in_place and isinstance(result, v.Tensor) else None


def _filled(container: v.LibraryObject, arguments: v.Arguments) -> v.Value:
    """The container of modules with one more module."""
    given = () if container.arguments is None else container.arguments.positional
    inner = given[0] if len(given) == 1 and isinstance(given[0], v.Sequence) else sequence_of(given)
    items = v.Sequence(None, join(inner.element, arguments.positional[-1] if arguments.positional else v.NOTHING))
    return container._replace(arguments=v.Arguments((items,)), on_cpu=None, requires_grad=None)


def _moved(
    frame: Frame, receiver: v.LibraryObject | v.Instance, name: str, arguments: v.Arguments, result: v.Value
) -> v.Value | None:
    if isinstance(receiver, v.Instance):
        if not frame.analysis.classes.is_module(receiver.cls):
            return receiver._replace(is_moved=True) if name in _MOVES else None
        if isinstance(result, v.Instance) and result.cls == receiver.cls:
            return result
    return moved_module(frame, receiver, name, arguments)


def change_arguments(frame: Frame, node: ast.Call, called: v.Value | None) -> None:
    """Make the grad of tensor arguments unknown that a function of the repository may give grad."""
    function = called.function if isinstance(called, v.BoundMethod) else called
    if not isinstance(function, v.Function) or isinstance(function.node, ast.Lambda):
        return
    changed = function.module.derived(_parameters_given_grad, function.node)
    if not changed:
        return
    names = parameter_names(function.node.args)
    given = given_to(names[names[:1] == ["self"] :], node, arguments_of(node))
    for each in (given[name] for name in changed if name in given):
        value = frame.value(each) if isinstance(each, ast.Name) else None
        has_none = isinstance(value, v.Tensor) and value.requires_grad is False and not is_integral(value.dtype)
        if isinstance(each, ast.Name) and isinstance(value, v.Tensor) and has_none:
            frame.refine(each.id, value._replace(requires_grad=None))


def _parameters_given_grad(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The parameters that a function makes require grad or writes into: `x.requires_grad_()`, `x.add_(w)`; not those
    that it rebinds."""
    changed, bound = set(), set()
    for each in walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            bound.add(each.id)
        is_call = isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr in _GIVING_GRAD
        function = each.func if isinstance(each, ast.Call) else each
        is_set = isinstance(each, ast.Attribute) and each.attr == "requires_grad" and isinstance(each.ctx, ast.Store)
        if (is_call or is_set) and isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            changed.add(function.value.id)
    return frozenset(changed - bound)


def _move_parts(frame: Frame, name: str, after: v.Instance) -> None:
    """Update the known attributes of an object that was moved or frozen: `self.to(device)`."""
    for path, value in list((frame.env or {}).items()):
        if path.startswith(f"{name}.") and isinstance(value, (v.Tensor, v.LibraryObject, v.Instance)):
            cpu = join_fact(value.on_cpu, after.on_cpu) if isinstance(value, v.Tensor) else after.on_cpu
            taint = max(value.device_taint, after.device_taint)
            frame.refine(path, value._replace(on_cpu=cpu, device_taint=taint))
    frame.refine(name, after)


def made_by_model(frame: Frame, result: v.Value, function: ast.expr, arguments: v.Arguments) -> v.Value:
    """The result of an unknown callee named like a model or a loss: it has the device taint of its arguments, and
    parameter taint (a loss only if an argument has it)."""
    if not isinstance(result, v.Unknown) or result.reason not in (Reason.CALL, Reason.METHOD):
        return result
    if not frame.module.frameworks.only_torch_says or not frame.module.frameworks.names_torch:
        return result
    name = (last_name(function) or "").lower()
    given = arguments.values()
    are_arrays = given and all(isinstance(each, (v.NonTensor, v.Constant)) for each in given)
    if arguments.named_value("output_type") is not None or are_arrays:
        return result
    taint = max(result.device_taint, max_device_taint(given))
    may_learn = result.requires_grad is None
    if name in _MODELS or (name.rpartition("_")[2] in _MODELS and not _is_function(frame, function)):
        return result._replace(param_taint=may_learn, device_taint=taint)
    if _LOSS.search(name) is None:
        return result
    return result._replace(reason=Reason.LOSS, param_taint=may_learn and have_param_taint(given), device_taint=taint)


def _is_function(frame: Frame, node: ast.expr) -> bool:
    """True if the callee is imported or defined by `def`, or is a method that the module never assigns:
    `learner.update_model()`."""
    if isinstance(node, ast.Attribute):
        return not frame.module.source.says(rf"\b{node.attr}[ \t]*(?::[^=\n]*)?=(?!=)")
    bindings = frame.module.names.bindings.get(getattr(node, "id", ""), ())
    return any(isinstance(each, (Import, ast.FunctionDef)) for each in bindings)
