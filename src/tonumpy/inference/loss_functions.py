"""What is a loss or a number and learns nothing, and which functions call a model of their own; by names."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import Import, defaults_of, parameter_names, read_name, root_name
from tonumpy.engine.names.references import functions_named
from tonumpy.engine.names.syntax_lowering import stored_in, stored_in_attributes
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, SCOPES, walk

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module

OF_LOSSES = ("Loss", "Criterion")
# Networks that follow another, or are only asked: nothing is to be learnt through them.
_ASKED_ALONE = re.compile(r"(?:^|_)(?:targets?|targ|teacher|ema|frozen|old|ref|reference)(?:_|\d|$)")


def is_loss_called(function: ast.expr) -> bool:
    """`criterion(...)`, `self.loss(...)`: it has nothing to learn, most often."""
    name = (read_name(function) or "").removeprefix("self.").lower()
    return "loss" in name or "criterion" in name


def trained_in(tree: ast.Module) -> dict[str, tuple[str, list[str]]]:
    """By the names of functions and methods that ask gradients of a parameter, `def apply(self, loss):
    loss.backward()`: its name, among those of all that a call gives."""
    found: dict[str, tuple[str, list[str]]] = {}
    for function in walk(tree):
        if isinstance(function, FUNCTIONS):
            names = parameter_names(function.args)
            names = names[1:] if names[:1] == ["self"] else names
            calls = (node.func for each in function.body for node in walk(each) if isinstance(node, ast.Call))
            asked = {root_name(each) for each in calls if isinstance(each, ast.Attribute) and each.attr == "backward"}
            found.update((function.name, (name, names)) for name in names if name in asked)
    return found


def makes_loss(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (last_name(node.func) or "").endswith(OF_LOSSES)


def calls_model(module: Module, function: ast.expr) -> bool:
    """Whether what is called is a function or method of the module that calls what it was not given, and may learn:
    `self.net(x)`, in `def critic_loss(self, target)`."""
    return module.derived_of(_calls_model, last_name(function) or "")


def _calls_model(module: Module, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and not is_loss_called(node.func) and _is_variable(module, root_name(node.func))
        for each in functions_named(module, name)
        for node in walk(each)
    )


def _is_variable(module: Module, root: str | None) -> bool:
    """Whether it is an attribute of the object, or a name that the module binds to what it makes."""
    bound = module.names.bindings.get(root or "")
    is_made = bool(bound) and not all(isinstance(each, (Import, *SCOPES)) for each in bound or ())
    return is_made or (root or "").startswith("self.")


def numbers_given(function: ast.AST) -> set[str]:
    """The parameters of a function that are numbers by their defaults or annotations."""
    if not isinstance(function, FUNCTIONS):
        return set()
    arguments = function.args
    found = {name for name, default in defaults_of(arguments) if _is_number(default)}
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return found | {each.arg for each in every if each.annotation and read_name(each.annotation) in ("float", "int")}


def is_number_kept(module: Module, name: str) -> bool:
    """Whether the module writes numbers alone to the attributes of this name: `self.weight = 0.1`."""
    return module.derived_of(_is_number_kept, name)


def _is_number_kept(module: Module, name: str) -> bool:
    are_numbers: list[bool] = []
    for scope in walk(module.tree):
        if isinstance(scope, ast.ClassDef):
            are_numbers += (_is_number(value) for value in stored_in(scope.body, name))
        elif isinstance(scope, FUNCTIONS):
            given = numbers_given(scope)
            stored = stored_in_attributes(scope, name)
            are_numbers += (_is_number(each) or (isinstance(each, ast.Name) and each.id in given) for each in stored)
    return bool(are_numbers) and all(are_numbers)


def _is_number(node: ast.expr | None) -> bool:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def is_of_target(made_by: ast.expr) -> bool:
    """Whether a network that is only asked gives it: `self.target_net(x)[0].detach()`."""
    node, called = made_by, ""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            called = last_name(node.func) or ""
            node = node.func
        else:
            node = node.value
    return _ASKED_ALONE.search(called.lower()) is not None
