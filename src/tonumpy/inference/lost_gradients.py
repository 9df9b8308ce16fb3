"""Finds where torch trains on a loss that is made of a conversion's array alone: nothing is learnt there.

By names alone, as in array_flow.py: a loss comes from an array where `torch.tensor(array)` or the like holds it. A loss
that anything else has a part in, but for labels and constants, may well have a gradient.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from tonumpy.inference.array_flow import INTO_TORCH, Names, brings_back, callers_of, trained
from tonumpy.inference.index.bindings import arguments_of, given_to
from tonumpy.inference.index.references import calls_of_objects, class_around, places_that_name
from tonumpy.inference.loss_functions import OF_LOSSES, is_of_target, trained_in
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.inference.index.module import Module
    from tonumpy.text.candidates import Candidate, Scope


@lru_cache(maxsize=1)  # one text may hold any number of candidates
def _may_train_on_arrays(text: str) -> bool:
    trains = "backward(" in text or any(f"{word}(" in text for word in OF_LOSSES)
    return trains and any(f"{word}(" in text for word in INTO_TORCH)


def loses_gradient(module: Module, candidate: Candidate) -> int | None:
    """The row of the call of `backward`, or of the `return` of a loss; None where there is none in sight."""
    if not _may_train_on_arrays(module.source.text):
        return None
    scopes = candidate.scopes
    names = module.derived(Names, scopes[-1])
    arrays = names.made_of({id(candidate.call)})
    returned = {id(each) for each in names.calls if brings_back(each, {id(candidate.call)}, arrays)}
    if not returned or any(map(is_of_target, names.makers_of(candidate.receiver))):
        return None
    tensors = names.made_of(returned)
    if _have_grad_wanted(names, tensors):
        return None
    for loss, row in (*trained(names.calls), *_trained_by_functions(module, names.calls)):
        if names.is_made_alone(module, loss, returned, tensors):
            return row
    for value in names.returned:
        if names.is_made_alone(module, value, returned, tensors) and (_is_loss(scopes) or _is_trained(module, scopes)):
            return value.lineno
    return None


def _have_grad_wanted(names: Names, made: set[str]) -> bool:
    """Whether one of the tensors that arrays have become is what is learnt: an input that is attacked, weights that
    are updated by hand or by an optimizer."""
    return not names.grad_read.isdisjoint(made) or any(
        isinstance(node, ast.Name) and node.id in made
        for call in names.calls
        for given in _learnt(call)
        for node in (given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given])
    )


def _learnt(call: ast.Call) -> Iterator[ast.expr]:
    """What a call asks gradients of, or gives to an optimizer: `torch.autograd.grad(loss, w)`, `Adam([w])`."""
    name = last_name(call.func) or ""
    if name in ("grad", "backward"):
        yield from (each.value for each in call.keywords if each.arg == "inputs")
        yield from call.args[1:2] if name == "grad" else ()
    elif name[:1].isupper() and name not in INTO_TORCH and name != "Variable" and not name.endswith(OF_LOSSES):
        yield from call.args[:1]


def _trained_by_functions(module: Module, calls: list[ast.Call]) -> Iterator[tuple[ast.expr, int]]:
    """What functions of the module ask gradients of: `self.apply(loss)`."""
    parameters = module.derived(trained_in, module.tree)
    for call in calls:
        name, names = parameters.get(last_name(call.func) or "", ("", []))
        given = given_to(names, call, arguments_of(call)).get(name) if name else None
        if given is not None:
            yield given, call.lineno


def _is_loss(scopes: tuple[Scope, ...]) -> bool:
    """Whether it is the forward of a module that computes a loss."""
    owner = class_around(scopes)
    return owner is not None and owner.name.endswith(OF_LOSSES) and getattr(scopes[-1], "name", "") == "forward"


def _is_trained(module: Module, scopes: tuple[Scope, ...]) -> bool:
    """Whether the module trains on what a function of it returns."""
    for names, call in (*callers_of(module, scopes), *_calls_of_forward(module, scopes)):
        made = names.made_of({id(call)})
        if any(names.is_made_alone(module, loss, {id(call)}, made) for loss, _ in trained(names.calls)):
            return True
    return False


def _may_hold_object(names: Names, name: str, cls: str) -> bool:
    """Whether a class makes what a name is bound to, or nothing here binds it."""
    parts = names.parts.get(name, ())
    return not parts or any(isinstance(each, ast.Call) and last_name(each.func) == cls for each in parts)


def _calls_of_forward(module: Module, scopes: tuple[Scope, ...]) -> Iterator[tuple[Names, ast.Call]]:
    """The same of the `forward` of a module: calls of what its class made, or a parameter is annotated as."""
    owner = class_around(scopes)
    if owner is None or getattr(scopes[-1], "name", "") != "forward":
        return
    for place in places_that_name(module, owner.name):
        if place.call is None and isinstance(place.statement, FUNCTIONS):  # an annotation
            names = module.derived(Names, place.statement)
            arguments = place.statement.args
            kept = {each.arg for each in arguments.args if each.annotation and last_name(each.annotation) == owner.name}
            calls = [call for call in names.calls if isinstance(call.func, ast.Name) and call.func.id in kept]
            yield from ((names, call) for call in calls)
    for place in calls_of_objects(module, owner):
        scope = place.scopes[-1]
        if place.call is None or not isinstance(scope, (ast.Module, *FUNCTIONS)):
            continue
        names = module.derived(Names, scope)
        if not isinstance(place.call.func, ast.Name) or _may_hold_object(names, place.call.func.id, owner.name):
            yield names, place.call
