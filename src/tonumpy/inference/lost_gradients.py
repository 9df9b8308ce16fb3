"""Finds where torch trains on a loss that is made of a conversion's array alone: nothing is learnt there.

By names alone, as in array_flow.py: a loss comes from an array where `torch.tensor(array)` or the like holds it. A loss
that anything else has a part in, but for labels and constants, may well have a gradient.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.names.bindings import arguments_of, decorator_names, given_to, parameter_names, root_name
from tonumpy.engine.names.references import (
    calls_of_objects,
    class_around,
    functions_named,
    is_on_self,
    places_that_name,
    references_to,
)
from tonumpy.inference.array_flow import INTO_TORCH, Names, brings_back, callers_of, holds, is_set_to_learn, trained
from tonumpy.inference.loss_functions import OF_LOSSES, is_of_target, trained_in
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from tonumpy.engine.names.bindings import FunctionNode
    from tonumpy.engine.names.module import Module
    from tonumpy.text.candidates import Candidate, Scope


_OF_GRAD = frozenset(("register_hook", "retain_grad"))
LEVELS = 2  # of functions that hand an array on


@lru_cache(maxsize=1)  # one text may hold any number of candidates
def _may_train_on_arrays(text: str) -> bool:
    trains = "backward(" in text or any(f"{word}(" in text for word in OF_LOSSES)
    return trains and any(f"{word}(" in text for word in INTO_TORCH)


@lru_cache(maxsize=1)
def _may_make_leaves(text: str) -> bool:
    return "requires_grad" in text


def loses_gradient(module: Module, candidate: Candidate) -> int | None:
    """The row of the call of `backward`, or of the `return` of a loss; None where there is none in sight."""
    if not _may_train_on_arrays(module.source.text):
        return None
    scopes = candidate.scopes
    names = module.derived(Names, scopes[-1])
    nodes = {id(candidate.call)}
    arrays = names.made_of(nodes)
    returned = {id(each) for each in names.calls if brings_back(each, nodes, arrays)}
    may_leave = _may_make_leaves(module.source.text)
    given = list(_given_to_makers(module, names, nodes, arrays)) if may_leave else []
    is_handed_up = may_leave and _is_returned(scopes, names, nodes, arrays)
    if not (returned or given or is_handed_up) or any(map(is_of_target, names.makers_of(candidate.receiver))):
        return None
    row = _row_of_loss(module, scopes, names, returned) if returned else None
    if row is not None or is_named("label-name", root_name(candidate.receiver) or ""):
        return row
    row = _row_of_makers(module, scopes, given)
    return _row_of_leaf(module, scopes) if row is None and is_handed_up else row


def _row_of_loss(
    module: Module, scopes: tuple[Scope, ...], names: Names, returned: set[int], arrays: Collection[int] = ()
) -> int | None:
    """Where a loss is trained on that is made of what is returned to torch alone, in the function or by its caller."""
    tensors = names.made_of(returned)
    if _have_grad_wanted(names, tensors):
        return None
    row = _row_of_training(module, names, returned, arrays)
    if row is not None:
        return row
    for value in names.returned:
        is_alone = names.is_made_alone(module, value, returned, tensors, arrays)
        if is_alone and (_is_loss(scopes) or _is_trained(module, scopes)):
            return value.lineno
    return None


def _row_of_training(module: Module, names: Names, returned: set[int], arrays: Collection[int]) -> int | None:
    """The same in the function itself."""
    tensors = names.made_of(returned)
    for loss, row in (*trained(names.calls), *_trained_by_functions(module, names.calls)):
        if names.is_made_alone(module, loss, returned, tensors, arrays):
            return None if arrays and _is_wanted(names, returned, loss, row) else row
    return None


def _row_of_leaf(module: Module, scopes: tuple[Scope, ...], levels: int = LEVELS) -> int | None:
    """The same of an array that a function returns: where it is called, torch is made to require grad of it."""
    for around, calls in _calls_by_name(module, scopes):
        names = module.derived(Names, around[-1])
        arrays = names.made_of(calls)
        returned = _leaves(names, calls, arrays)
        row = _row_of_loss(module, around, names, returned, calls) if returned else None
        if row is None:
            row = _row_of_makers(module, around, _given_to_makers(module, names, calls, arrays))
        if row is None and levels > 1 and _is_returned(around, names, calls, arrays, is_cut_here=False):
            row = _row_of_leaf(module, around, levels - 1)
        if row is not None:
            return row
    return None


class _Given(NamedTuple):
    """The call of a function that makes a leaf of a parameter, with the function, and where it reads the parameter."""

    call: ast.Call
    function: FunctionNode
    reads: set[int]


def _given_to_makers(module: Module, names: Names, nodes: set[int], arrays: set[str]) -> Iterator[_Given]:
    """What a function gives to those of the module that make leaves: `as_loss(array.mean())`."""
    makers = module.derived(_makers_of_leaves, module.tree)
    for call in names.calls if makers else ():
        function = makers.get(last_name(call.func) or "")
        if function is None or module.derived_of(_only_function, function.name) is None:
            continue
        for name, value in given_to(_parameters(function), call, arguments_of(call)).items():
            if holds(value, nodes, arrays) and not names.detaches(value, nodes):
                reads = (each for part in function.body for each in walk(part) if isinstance(each, ast.Name))
                yield _Given(call, function, {id(each) for each in reads if each.id == name})


def _row_of_makers(module: Module, scopes: tuple[Scope, ...], given: Iterable[_Given]) -> int | None:
    """Where one of these functions trains on the leaf, or returns it where its caller does."""
    for call, function, reads in given:
        names = module.derived(Names, function)
        returned = _leaves(names, reads, names.made_of(reads))
        tensors = names.made_of(returned)
        if not returned or _have_grad_wanted(names, tensors):
            continue
        row = _row_of_training(module, names, returned, reads)
        if row is not None:
            return row
        row = next((each.lineno for each in names.returned if holds(each, returned, tensors)), None)
        around, leaf = module.derived(Names, scopes[-1]), {id(call)}
        if row is not None and _row_of_loss(module, scopes, around, leaf, leaf) is not None:
            return row
    return None


def _makers_of_leaves(tree: ast.Module) -> dict[str, FunctionNode]:
    """The functions that make torch require grad of something, by their names."""
    return {
        function.name: function
        for function in walk(tree)
        if isinstance(function, FUNCTIONS)
        and any(isinstance(node, ast.Call) and is_set_to_learn(node) for part in function.body for node in walk(part))
    }


def _leaves(names: Names, nodes: set[int], arrays: set[str]) -> set[int]:
    """What returns to torch of the nodes, if torch is made to require grad of it."""
    found = (each for each in names.calls if brings_back(each, nodes, arrays))
    returned = {id(each) for each in found if not names.detaches(each.args[0], nodes)}
    return returned if returned and names.is_made_to_learn(returned, names.made_of(returned)) else set()


def _is_returned(
    scopes: tuple[Scope, ...], names: Names, nodes: set[int], arrays: set[str], *, is_cut_here: bool = True
) -> bool:
    """Whether a function returns what the nodes make, and no tensor beside it; if the gradient is not cut here, one of
    its own cuts is nearer, which is to be told instead."""
    return isinstance(scopes[-1], FUNCTIONS) and any(
        all(holds(each, nodes, arrays) for each in _returned_together(value))
        and (is_cut_here or not names.detaches(value, nodes))
        for value in names.returned
    )


def _returned_together(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.Tuple):
        return value.elts
    return value.values if isinstance(value, ast.Dict) and value.values else [value]


def _is_wanted(names: Names, leaves: set[int], loss: ast.expr, row: int) -> bool:
    """Whether the gradient of a leaf that has a name beside the loss may be read elsewhere: the leaf is returned or
    kept as it is, given to something after the call of `backward` in this row, or has a hook."""
    kept = {name for name, values in names.parts.items() if any(_leaf(each, leaves) for each in values)}
    kept.discard(root_name(loss) or "")
    if not kept:
        return False
    given = [each for value in names.returned for each in (value.elts if isinstance(value, ast.Tuple) else [value])]
    for values in names.parts.values():
        given += (part for value in values if isinstance(value, ast.Dict) for part in value.values)
    for call in names.calls:
        if last_name(call.func) in _OF_GRAD and isinstance(call.func, ast.Attribute):
            given.append(call.func.value)
        elif call.lineno > row and last_name(call.func) != "print":
            given += arguments_of(call)
    return any(isinstance(each, ast.Name) and each.id in kept for each in given)


def _leaf(value: ast.expr, leaves: set[int]) -> bool:
    """`torch.tensor(x)`, `torch.tensor(x).double().requires_grad_()`"""
    while id(value) not in leaves:
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return False
        value = value.func.value
    return True


def _calls_by_name(module: Module, scopes: tuple[Scope, ...]) -> Iterator[tuple[tuple[Scope, ...], set[int]]]:
    """The calls of a function, if its name means no other one of the module, with where they stand: by itself, or by a
    parameter to which it is given."""
    function, owner = scopes[-1], class_around(scopes)
    assert isinstance(function, FUNCTIONS)
    is_property = not decorator_names(function).isdisjoint(("property", "cached_property"))
    is_only_one = module.derived_of(_only_function, function.name) is not None
    for reference in references_to(module, scopes):
        around = reference.scopes
        if not isinstance(around[-1], (ast.Module, *FUNCTIONS)):
            continue
        if not is_only_one and (owner is None or not is_on_self(reference, owner)):
            continue
        if is_property and reference.node is not None:
            yield around, {id(reference.node)}
        elif reference.call is not None:
            yield around, {id(reference.call)}
        elif reference.passed_to is not None:
            yield from _calls_of_given(module, reference.passed_to, reference.node)


def _calls_of_given(
    module: Module, call: ast.Call, given: ast.expr | None
) -> Iterator[tuple[tuple[Scope, ...], set[int]]]:
    """The calls of what a function of the module is given: `fit(net, penalty)`, where `fit` calls `penalty(x)`."""
    function = module.derived_of(_only_function, last_name(call.func) or "")
    if function is None:
        return
    for name, value in given_to(_parameters(function), call, arguments_of(call)).items():
        if value is given:
            calls = module.derived(Names, function).calls
            yield (module.tree, function), {id(c) for c in calls if isinstance(c.func, ast.Name) and c.func.id == name}


def _parameters(function: FunctionNode) -> list[str]:
    """Those that a call gives."""
    names = parameter_names(function.args)
    return names[1:] if names[:1] == ["self"] else names


def _only_function(module: Module, name: str) -> FunctionNode | None:
    """The function or method of this name, if the module defines one alone."""
    found = list(functions_named(module, name))
    return found[0] if len(found) == 1 else None


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
        are_alone = (names.is_made_alone(module, loss, {id(call)}, made) for loss, _ in trained(names.calls))
        if not _have_grad_wanted(names, made) and any(are_alone):
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
