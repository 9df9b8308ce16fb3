"""From a call whose result is dropped, `policy.cpu()` or `to_device(device, policy)`, to the modules that it moves."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import given_to, path_of, read_name
from tonumpy.inference.index.moving import moved_by
from tonumpy.inference.index.torch_words import MOVES
from tonumpy.inference.lattice.reasons import Reason
from tonumpy.inference.lattice.values import (
    MOVED_MODULE,
    Arguments,
    BoundMethod,
    Constant,
    Function,
    Instance,
    LibraryObject,
    Unknown,
    Value,
)
from tonumpy.inference.transfer.library_values import is_module
from tonumpy.inference.transfer.moved_modules import moved
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame


def change_moved(frame: Frame, call: ast.Call) -> None:
    """What a statement that is such a call, and has just been run, leaves in the names that are moved."""
    if not frame.module.frameworks.only_torch_says:
        return
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if method in MOVES:
        assert isinstance(call.func, ast.Attribute)
        path = path_of(call.func.value)
        if path is not None and isinstance(held := frame.evaluator.expression(frame, call.func.value), Unknown):
            _change(frame, path, held, method, frame.evaluator.arguments(frame, call))
        return
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if all(path_of(each) is None for each in given) or any(isinstance(each, ast.Starred) for each in given):
        return
    function = frame.evaluator.expression(frame, call.func)
    called = function.function if isinstance(function, BoundMethod) else function
    if not isinstance(called, Function) or isinstance(called.node, ast.Lambda):
        return
    moves = called.module.derived(moved_by, called.node)
    if moves and None not in (keyword.arg for keyword in call.keywords):
        _change_arguments(frame, call, called, moves, is_bound=isinstance(function, BoundMethod))


def _change_arguments(
    frame: Frame, call: ast.Call, called: Function, moves: dict[str, ast.Call], *, is_bound: bool
) -> None:
    """What a function of the repository has moved of what it was given."""
    node = called.node
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][1 if is_bound else 0 :]
    given = given_to(names, call, [*call.args, *(keyword.value for keyword in call.keywords)])
    for name, by in moves.items():
        assert isinstance(by.func, ast.Attribute)
        is_rest = node.args.vararg is not None and node.args.vararg.arg == name
        places = call.args[len(names) :] if is_rest else [given[name]] if name in given else []
        arguments = Arguments(tuple(_value_of(frame, each, given) for each in by.args))
        for place in places:
            path = path_of(place)
            if path is not None:
                _change(frame, path, frame.evaluator.expression(frame, place), by.func.attr, arguments)


def _value_of(frame: Frame, node: ast.expr, given: dict[str, ast.expr]) -> Value:
    """What a function that is called with these arguments hands on itself."""
    if isinstance(node, ast.Constant):
        return Constant(node.value)
    argument = given.get(read_name(node) or "")
    return Unknown(Reason.PARAMETER) if argument is None else frame.evaluator.expression(frame, argument)


def _change(frame: Frame, path: str, held: Value, method: str, arguments: Arguments) -> None:
    if isinstance(held, Unknown):
        if _is_used_as_tensor(frame, path):
            return
        held = LibraryObject(MOVED_MODULE, held.on_cpu, held.requires_grad, evidence=held.evidence)
        if moved(held, method, arguments).on_cpu is not True:
            return  # nothing is learnt from that
    if isinstance(held, Instance):
        frame.change_all(path, held, moved(held, method, arguments))
        return
    if isinstance(held, LibraryObject) and is_module([held.name]):
        frame.change_all(path, held, moved(held, method, arguments))


def _is_used_as_tensor(frame: Frame, path: str) -> bool:
    """`x.cuda()` where `x = x.cuda()` is meant: what is read from it shows that it is none of a module's."""
    parts = (".numpy(", ".detach(", ".item(", ".shape", ".size(", ".data", "[")
    return any(frame.module.text.says("holds", f"{path}{part}") for part in parts)
