"""Loops over the parts of a module that move, freeze or thaw each of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import is_false, requires_grad_given
from tonumpy.engine.names.freezing import OF_ALL_PARAMETERS, all_set
from tonumpy.engine.names.torch_words import changes_module_in_place
from tonumpy.engine.values.aliases import loosened
from tonumpy.engine.values.values import (
    NOTHING,
    Instance,
    LibraryObject,
    Unknown,
)
from tonumpy.inference.transfer.assignment import thaw
from tonumpy.inference.transfer.members import resolve
from tonumpy.text.names import path_of
from tonumpy.text.syntax import blocks_of, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonumpy.inference.transfer.frame import Frame


def regrade_module(frame: Frame, loop: ast.For | ast.AsyncFor) -> None:
    """`for p in module.parameters(): p.requires_grad = False` freezes the module, as `requires_grad_(False)` does.

    What a loop goes through is no longer known to be frozen where it leaves anything set to what is not False.
    """
    if not frame.module.words.speaks_of_grad:
        return
    if _leaves_thawed(loop.body):
        thaw(frame, loop.iter)
    found = all_set(loop)
    is_frozen = found is not None and all(map(is_false, found[1]))
    if found is not None:
        node = found[0]
    elif isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute):
        given = (node for statement in statements_of(loop.body) for node in requires_grad_given(statement))
        if loop.iter.func.attr not in OF_ALL_PARAMETERS or not any(given):
            return
        node = loop.iter.func.value  # some of its parameters
    else:
        return
    path = path_of(node)
    module = None if path is None else frame.env.get(path)
    if is_frozen and isinstance(module, Unknown) and frame.module.frameworks.only_torch_says:
        module = LibraryObject("torch.nn.Module", module.on_cpu)  # what else has parameters
    if path is not None and isinstance(module, (Instance, LibraryObject)):
        frame.change_all(path, module, module._replace(requires_grad=False if is_frozen else None))


def change_modules(frame: Frame, loop: ast.For | ast.AsyncFor) -> None:
    """`for net in (actor, critic): net.to(device)` may have moved, frozen or thawed each of them."""
    regrade_module(frame, loop)
    if not isinstance(loop.iter, (ast.Tuple, ast.List)):
        return
    nodes = (node for statement in loop.body for node in walk(statement) if isinstance(node, ast.Call))
    if not any(isinstance(each.func, ast.Attribute) and changes_module_in_place(each.func.attr) for each in nodes):
        return
    for path in filter(None, map(path_of, loop.iter.elts)):
        module = resolve(frame, frame.env.get(path) or NOTHING)
        if isinstance(module, (Instance, LibraryObject)):
            frame.change_all(path, module, loosened(module))


def _leaves_thawed(block: Sequence[ast.stmt]) -> bool:
    """Whether something is set to what is not False in a block, and not to False again further down in it."""
    is_thawed = False
    for statement in block:
        for node in requires_grad_given(statement):
            is_thawed = not is_false(node)
        is_thawed = is_thawed or any(_leaves_thawed(inner) for inner in blocks_of(statement))
    return is_thawed
