"""From a flag in a test to whether its name has one definition in its scope: then tests agree."""

from __future__ import annotations

import ast

from tonumpy.inference.index.def_use import def_use_of
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.syntax import SCOPES, walk

if TYPE_CHECKING:
    from tonumpy.inference.index.module import Module


def is_fixed_flag(module: Module, scope: ast.AST, name: str, truth: bool) -> bool:
    """Whether the name has one definition in the scope, so that every test of it agrees.

    Assignments of the opposite constant are allowed: where the test still shows `truth`, they did not run. A name that
    is only switched on and off holds the last constant assigned.
    """
    assert isinstance(scope, (ast.Module, *SCOPES))
    flow = module.derived(def_use_of, scope)
    if name not in flow.times_bound:
        is_own = name in flow.local_names and name not in flow.shared_names
        return is_own and (name, True) in flow.switched and (name, False) in flow.switched
    is_fixed = flow.times_bound[name] == 1 and (name, truth) not in flow.switched
    return is_fixed and name not in module.derived(_names_of_objects, scope)


def _names_of_objects(scope: ast.AST) -> frozenset[str]:
    """The names with which more is done than to ask whether they hold: `if outputs: outputs[0].numpy()`."""
    found: set[str] = set()
    for node in walk(scope):
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            held = node.value
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            held = node.iter
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
            held = node.value
        else:
            continue
        if isinstance(held, ast.Name):
            found.add(held.id)
    return frozenset(found)
