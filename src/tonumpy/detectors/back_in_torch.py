"""Finds where torch uses what NumPy makes of a tensor: there a conversion of the tensor would cut its gradient.

By names, as in array_flow.py, but a name is what was last bound to it before the line.
"""

from __future__ import annotations

import ast

from tonumpy.detectors.array_flow import OF_INTEGERS, Names, brings_back, callers_of, holds, trained
from tonumpy.engine.names.bindings import Import
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.references import class_around
from tonumpy.text.candidates import Scope
from tonumpy.text.names import last_name, path_of

# Methods of tensors that arrays and numbers have not.
_OF_TENSORS = frozenset(
    "backward contiguous cpu cuda detach expand expand_as gather log_softmax masked_fill new_tensor permute"
    " requires_grad_ softmax to type_as unsqueeze view".split()
)
# What torch trains on, or feeds to the next layer.
_RETURNING_TENSORS = ("forward", "training_step")
_KEEPING = frozenset("save is_tensor isinstance type".split())  # functions of torch that compute nothing


def back_in_torch(module: Module, node: ast.AST, scopes: tuple[Scope, ...]) -> int | None:
    """Return the line where torch uses what a call, or an operator, gives; None where none is in sight."""
    if isinstance(node, ast.Call) and last_name(node.func) in OF_INTEGERS:
        return None  # positions and counts have no gradient to lose
    names, nodes = module.derived(Names, scopes[-1]), {id(node)}
    made = names.made_of(nodes)
    used = _used(module, names, nodes, made)
    if used is not None:
        return used
    returned = (each for each in names.returned if holds(each, nodes, names.held_at(each.lineno, made, nodes)))
    first = next(returned, None)
    if first is None:
        return None
    if getattr(scopes[-1], "name", "") in _RETURNING_TENSORS and class_around(scopes) is not None:
        return first.lineno
    callers = ((of_caller, {id(call)}) for of_caller, call in callers_of(module, scopes))
    found = (_used(module, of_caller, calls, of_caller.made_of(calls)) for of_caller, calls in callers)
    return next((row for row in found if row is not None), None)


def _used(module: Module, names: Names, nodes: set[int], made: set[str]) -> int | None:
    for call in names.calls:
        at = names.held_at(call.lineno, made, nodes)
        if _is_use(module, call, nodes, at) or any(holds(loss, nodes, at) for loss, _ in trained([call])):
            return call.lineno
    return None


def _is_use(module: Module, call: ast.Call, nodes: set[int], names: set[str]) -> bool:
    if brings_back(call, nodes, names):
        return True
    if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_TENSORS:
        return holds(call.func.value, nodes, names)
    is_of_torch = _is_of_torch(module, call.func) and last_name(call.func) not in _KEEPING | OF_INTEGERS
    return is_of_torch and any(holds(each, nodes, names) for each in call.args if not isinstance(each, ast.Dict))


def _is_of_torch(module: Module, function: ast.expr) -> bool:
    """True for `torch.stack` and `F.relu`."""
    root = (path_of(function) or "").partition(".")[0]
    bound = module.names.bindings.get(root, ())
    return any(isinstance(each, Import) and each.module.partition(".")[0] == "torch" for each in bound)
