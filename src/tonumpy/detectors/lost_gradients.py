"""From a conversion to where torch trains on a loss that is made of its array alone.

By names alone, as in array_flow.py: a loss comes from an array where `torch.tensor(array)` or the like holds it. A loss
that anything else has a part in, but for labels and constants, may well have a gradient.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from tonumpy.detectors.array_flow import INTO_TORCH, OF_LOSSES, Names, brings_back, callers_of, holds, trained
from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.names.bindings import root_name
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.references import class_around, functions_named
from tonumpy.text.candidates import Candidate, Scope
from tonumpy.text.names import last_name

# Networks that follow another, or are only asked: nothing is to be learnt through them.
_ASKED_ALONE = re.compile(r"(?:^|_)(?:targets?|targ|teacher|ema|frozen|old|ref|reference)(?:_|\d|$)")


@lru_cache(maxsize=1)  # one text may hold any number of candidates
def _may_train_on_arrays(text: str) -> bool:
    trains = "backward(" in text or any(f"{word}(" in text for word in OF_LOSSES)
    return trains and any(f"{word}(" in text for word in INTO_TORCH)


def loses_gradient(module: Module, candidate: Candidate) -> int | None:
    """Return the row of the call of `backward`, or of the `return` of a loss; None where there is none in sight."""
    if not _may_train_on_arrays(module.source.text):
        return None
    names, nodes = module.derived(Names, candidate.scopes[-1]), {id(candidate.call)}
    root = root_name(candidate.receiver) or ""
    if any(map(_is_of_target, (candidate.receiver, *names.parts.get(root, ())))):
        return None
    returned = _returned_to_torch(names, nodes)
    row = _row_of_training(module, names, returned)
    if row is not None:
        return row
    if not returned:
        arrays = names.made_of(nodes)
        parts = [value.elts if isinstance(value, ast.Tuple) else [value] for value in names.returned]
        is_handed_up = any(all(holds(each, nodes, arrays) for each in part) for part in parts)
        return _row_in_callers(module, candidate.scopes) if is_handed_up and not is_named("label-name", root) else None
    tensors = names.made_of(returned)
    alone = [value for value in names.returned if names.is_made_alone(module, value, returned, tensors)]
    is_wanted = bool(alone) and not _is_gradient_wanted(names, tensors)
    is_loss = is_wanted and (_is_loss(candidate.scopes) or _do_callers_train(module, candidate.scopes))
    return alone[0].lineno if is_loss else None


def _returned_to_torch(names: Names, nodes: set[int]) -> set[int]:
    """Return the calls that make tensors of the arrays that come from some nodes."""
    arrays = names.made_of(nodes)
    return {id(each) for each in names.calls if brings_back(each, nodes, arrays)}


def _row_of_training(module: Module, names: Names, returned: set[int]) -> int | None:
    """Return the row in which a loss is trained on that is made of these tensors alone."""
    tensors = names.made_of(returned)
    if not returned or _is_gradient_wanted(names, tensors):
        return None
    rows = (row for loss, row in trained(names.calls) if names.is_made_alone(module, loss, returned, tensors))
    return next(rows, None)


def _row_in_callers(module: Module, scopes: tuple[Scope, ...]) -> int | None:
    """Return the row in which a caller that gets the array trains on it, made a loss that requires grad: of others it
    may be a label, and a tensor with a name beside the loss may be what is learnt."""
    if len(list(functions_named(module, getattr(scopes[-1], "name", "")))) != 1:
        return None  # its name may mean another
    for names, call in callers_of(module, scopes):
        returned = _returned_to_torch(names, {id(call)})
        leaves = {name for name, values in names.parts.items() if any(holds(each, returned, ()) for each in values)}
        losses = {root_name(loss) for loss, _ in trained(names.calls)}
        row = _row_of_training(module, names, returned) if leaves <= losses else None
        if row is not None and names.requires_grad(returned, leaves):
            return row
    return None


def _do_callers_train(module: Module, scopes: tuple[Scope, ...]) -> bool:
    """True if a function of the module trains on what it gets from this one."""
    return any(_row_of_training(module, names, {id(call)}) is not None for names, call in callers_of(module, scopes))


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
    """Yield what a call asks gradients of, or gives to an optimizer: `torch.autograd.grad(loss, w)`, `Adam([w])`."""
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
