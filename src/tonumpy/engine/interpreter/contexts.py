"""Context managers and decorators: their effect on grad mode, and the value that `with` binds."""

from __future__ import annotations

import ast

from tonumpy.engine.interpreter.frame import UNREAD, Frame
from tonumpy.engine.knowledge.grad_contexts import GRAD_CONTEXTS, TOLD_BY_FLAG
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.value_facts import members, truth_of
from tonumpy.text.names import last_name


def enter_context(frame: Frame, node: ast.expr) -> v.Value:
    """Enter a context manager: set grad mode as it does, and return the value that it binds."""
    mode = grad_mode_of(frame, node)
    value = frame.value(node)
    if mode != "unchanged":
        frame.mode = None if mode == "unknown" else mode == "on"
        return UNREAD
    found: v.Value = v.NOTHING
    for each in members(value):
        if (
            isinstance(each, v.LibraryObject)
            and each.name == "contextlib.contextmanager"
            and each.arguments is not None
        ):
            yielded, made_mode = each.arguments.positional
            frame.mode = made_mode.value if isinstance(made_mode, v.Constant) else None
            found = join(found, yielded)
        elif isinstance(each, v.Instance):
            method = frame.analysis.classes.method(each.cls, "__enter__")
            entered = each if method is None else frame.analysis.enter(frame, method, each, v.Arguments(()))
            text = "" if method is None else frame.analysis.text_of(method)
            if "grad" in text and any(word in text for word in GRAD_CONTEXTS):
                frame.mode = None
            found = join(found, entered)
        else:
            found = join(found, each)
    return found


def grad_mode_of(frame: Frame, node: ast.expr) -> str:
    """The effect of a context manager or decorator on grad mode: "on", "off", "unknown" or "unchanged"."""
    function = node.func if isinstance(node, ast.Call) else node
    if isinstance(function, ast.IfExp):  # `no_grad() if flag else nullcontext()`, `(no_grad if flag else ...)()`
        branches = function.body, function.orelse
        modes = {grad_mode_of(frame, each if function is node else ast.Call(each, [], [])) for each in branches}
        return modes.pop() if len(modes) == 1 else "unknown"
    name = last_name(function)
    value = frame.lookup(function.id) if isinstance(function, ast.Name) else None
    if isinstance(value, v.LibraryObject):  # `context = torch.no_grad()`
        return _mode_of_object(value)
    if isinstance(value, v.Symbol):
        name = value.name.rpartition(".")[2]
    if name not in GRAD_CONTEXTS or isinstance(value, (v.Function, v.Class, v.BoundMethod)):
        return "unchanged"
    given = [*node.args, *(each.value for each in node.keywords)] if isinstance(node, ast.Call) else []
    return _mode(name, frame.value(given[0]) if given else None)


def _mode_of_object(context: v.LibraryObject) -> str:
    short, held = context.name.rpartition(".")[2], context.arguments
    first = held.positional[0] if held is not None and held.positional else None
    return _mode(short, first) if short in GRAD_CONTEXTS else "unchanged"


def _mode(name: str, given: v.Value | None) -> str:
    if given is None or name not in TOLD_BY_FLAG:
        return GRAD_CONTEXTS[name]
    truth = truth_of(given)
    if truth is None:
        return "unknown"
    mode = TOLD_BY_FLAG[name]
    return mode if truth else "off" if mode == "on" else "unchanged"
