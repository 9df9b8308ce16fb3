"""From a class to the parameters of its constructor that it calls, with what it has moved to the CPU before."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import bound_names, names_in, parameter_names
from tonumpy.engine.names.class_bodies import members_defined
from tonumpy.text.syntax import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.engine.names.bindings import FunctionNode
    from tonumpy.engine.names.module import Module


def called_on_cpu(module: Module, made: ast.ClassDef, _: str) -> frozenset[str]:
    """Of those that are called by name, in its methods or in functions of its module that these hand them to, the ones
    of which some call is given what was moved and no call anything else; a call that only passes on (`*args`) aside."""
    calls: dict[str, list[bool]] = {}
    kept = dict(_kept(made))
    for parameter, scope, call in _calls_of_kept(module, made, kept):
        calls.setdefault(parameter, []).extend(_is_given_moved(scope, call))
    return frozenset(name for name, given in calls.items() if given and all(given))


def _calls_of_kept(
    module: Module, made: ast.ClassDef, kept: dict[str, str]
) -> Iterator[tuple[str, FunctionNode, ast.Call]]:
    """The calls of what is kept, with its parameter and the function that they stand in."""
    for method in (each for each in made.body if isinstance(each, FUNCTIONS)):
        for call in _calls_in(method):
            parameter = kept.get(_of_self(call.func))
            if parameter is not None:
                yield parameter, method, call
            for attribute, function, name in _handed_on(module, call):
                if attribute in kept:
                    yield from ((kept[attribute], function, inner) for inner in _calls_of(function, name))


def _calls_in(scope: FunctionNode) -> list[ast.Call]:
    return [each for each in walk(scope) if isinstance(each, ast.Call)]


def _kept(made: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """The attributes that the constructor gives its parameters, and these; whatever else it does with them, unlike
    `stored_parameters`."""
    init = members_defined(made).methods.get("__init__")
    parameters = parameter_names(init.args) if init is not None else []
    for statement in init.body if init is not None else ():
        value = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(statement, ast.Assign) and isinstance(value, ast.Name) and value.id in parameters:
            yield from ((_of_self(target), value.id) for target in statement.targets)


def _of_self(node: ast.expr) -> str:
    is_of_self = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if is_of_self else ""  # type: ignore[attr-defined]


def _handed_on(module: Module, call: ast.Call) -> Iterator[tuple[str, FunctionNode, str]]:
    """The attributes that are handed to a function of the module, and what it calls them."""
    bound = module.names.bindings.get(call.func.id, ()) if isinstance(call.func, ast.Name) else ()
    for function in (each for each in bound if isinstance(each, FUNCTIONS)):
        yield from ((_of_self(each.value), function, each.arg) for each in call.keywords if each.arg is not None)
        names = parameter_names(function.args)
        yield from ((_of_self(each), function, name) for each, name in zip(call.args, names, strict=False))


def _calls_of(function: FunctionNode, name: str) -> Iterator[ast.Call]:
    """`metric(x)`, and `delayed(metric)(x)`."""
    for call in _calls_in(function):
        called = call.func.args[0] if isinstance(call.func, ast.Call) and len(call.func.args) == 1 else call.func
        if isinstance(called, ast.Name) and called.id == name:
            yield call


def _is_given_moved(scope: FunctionNode, call: ast.Call) -> Iterator[bool]:
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return
    moved = _moved_in(scope)
    yield all(_is_moved(each, moved) for each in (*call.args, *(each.value for each in call.keywords)))


def _moved_in(scope: FunctionNode) -> set[str]:
    """The names that are given what `.cpu()` gives, at least on one path, and parts of these."""
    moved: set[str] = set()
    for node in walk(scope):
        if isinstance(node, ast.Assign) and _moves(node.value):
            moved |= {each.id for each in node.targets if isinstance(each, ast.Name)}
    for node in walk(scope):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and _is_moved(node.iter, moved):
            moved |= set(bound_names(node.target))
    return moved


def _is_moved(node: ast.expr, moved: set[str]) -> bool:
    called = {each.func.id for each in walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    names = set(names_in(node)) - called
    return _moves(node) or (bool(names) and names <= moved)


def _moves(node: ast.expr) -> bool:
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "cpu"
        for each in walk(node)
    )
