"""Finds where torch trains on a loss that is made of a conversion's array alone: nothing is learnt there (TNP203).

By names alone, as in array_flow.py: a loss comes from an array where `torch.tensor(array)` or the like holds it. A loss
that anything else has a part in, but for labels and constants, may well have a gradient.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.names.bindings import read_name, root_name
from tonumpy.engine.names.references import class_around, functions_named
from tonumpy.inference.array_flow import INTO_TORCH, OF_LOSSES, Names, brings_back, callers_of, holds, trained
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.engine.names.module import Module
    from tonumpy.text.candidates import Candidate, Scope

# Networks that follow another, or are only asked: nothing is to be learnt through them.
_ASKED_ALONE = re.compile(r"(?:^|_)(?:targets?|targ|teacher|ema|frozen|old|ref|reference)(?:_|\d|$)")

_OF_GRAD = ("register_hook", "retain_grad")


@lru_cache(maxsize=1)  # one text may hold any number of candidates
def _may_train_on_arrays(text: str) -> bool:
    trains = "backward(" in text or any(f"{word}(" in text for word in OF_LOSSES)
    return trains and any(f"{word}(" in text for word in INTO_TORCH)


def loses_gradient(module: Module, candidate: Candidate) -> int | None:
    """The row of the call of `backward`, or of the `return` of a loss; None where there is none in sight."""
    if not _may_train_on_arrays(module.source.text):
        return None
    names, nodes = module.derived(Names, candidate.scopes[-1]), {id(candidate.call)}
    if any(map(_is_of_target, names.makers_of(candidate.receiver))):
        return None
    returned = _returned_to_torch(names, nodes)
    row = _row_of_training(module, names, returned)
    if row is not None:
        return row
    tensors, arrays = names.made_of(returned), names.made_of(nodes)
    for value in names.returned:
        is_alone = names.is_made_alone(module, value, returned, tensors) and not _is_gradient_wanted(names, tensors)
        if is_alone and (_is_loss(candidate.scopes) or _do_callers_train(module, candidate.scopes)):
            return value.lineno
    is_handed_up = any(all(holds(each, nodes, arrays) for each in _items(value)) for value in names.returned)
    is_label = is_named("label-name", root_name(candidate.receiver) or "")
    return _row_in_callers(module, candidate.scopes) if is_handed_up and not is_label else None


def _items(value: ast.expr) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.Tuple) else [value]


def _returned_to_torch(names: Names, nodes: set[int]) -> set[int]:
    """The calls that make tensors of the arrays that come from some nodes."""
    arrays = names.made_of(nodes)
    return {id(each) for each in names.calls if brings_back(each, nodes, arrays)}


def _row_of_training(module: Module, names: Names, returned: set[int], *, of_caller: bool = False) -> int | None:
    """The row in which a loss is trained on that is made of these tensors alone."""
    tensors = names.made_of(returned)
    if not returned or _is_gradient_wanted(names, tensors):
        return None
    for loss, row in trained(names.calls):
        if names.is_made_alone(module, loss, returned, tensors):
            return None if of_caller and _is_leaf_kept(names, returned, loss, row) else row
    return None


def _is_leaf_kept(names: Names, returned: set[int], loss: ast.expr, row: int) -> bool:
    """True if a tensor that has a name beside the loss is read after this row, or has a hook: its gradient may be."""
    leaves = {name for name, values in names.parts.items() if any(id(each) in returned for each in values)}
    leaves.discard(root_name(loss) or "")
    methods = (call.func for call in names.calls if isinstance(call.func, ast.Attribute))
    hooked = {read_name(method.value) for method in methods if method.attr in _OF_GRAD}
    return not leaves.isdisjoint(hooked) or names.are_read_after(leaves, row)


def _row_in_callers(module: Module, scopes: tuple[Scope, ...]) -> int | None:
    """The same in a caller that gets the array, and makes torch require grad of it: of others it may be a label."""
    if len(list(functions_named(module, getattr(scopes[-1], "name", "")))) != 1:
        return None  # its name may mean another
    for names, call in callers_of(module, scopes):
        returned = _returned_to_torch(names, {id(call)})
        if names.is_made_to_learn(returned, names.made_of(returned)):
            row = _row_of_training(module, names, returned, of_caller=True)
            if row is not None:
                return row
    return None


def _is_of_target(made_by: ast.expr) -> bool:
    """True if a network that is only asked gives it: `self.target_net(x)[0].detach()`."""
    node, called = made_by, ""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            called = last_name(node.func) or ""
            node = node.func
        else:
            node = node.value
    return _ASKED_ALONE.search(called.lower()) is not None


def _is_gradient_wanted(names: Names, made: set[str]) -> bool:
    """True if one of the tensors that arrays have become is what is learnt: an input that is attacked, weights that
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


def _is_loss(scopes: tuple[Scope, ...]) -> bool:
    """True if it is the forward of a module that computes a loss."""
    owner = class_around(scopes)
    return owner is not None and owner.name.endswith(OF_LOSSES) and getattr(scopes[-1], "name", "") == "forward"


def _do_callers_train(module: Module, scopes: tuple[Scope, ...]) -> bool:
    """True if a function of the module trains on what it gets from this one."""
    return any(_row_of_training(module, names, {id(call)}) is not None for names, call in callers_of(module, scopes))
