"""From a flag in a test to whether its name has one definition in its scope: then tests agree."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.def_use import def_use_of
from tonumpy.text.syntax import SCOPES, walk

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module


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
    is_fixed = is_fixed or name in module.derived(flags_of_several, scope)
    return is_fixed and name not in module.derived(_names_of_objects, scope)


def flags_of_several(scope: ast.AST) -> frozenset[str]:
    """The names that several calls of one function bind beside a value, and nothing else: `x, is_array = made(x)`."""
    pairs = [node for node in walk(scope) if isinstance(node, ast.Assign) and _is_of_pair(node)]
    flags = [node.targets[0].elts[1] for node in pairs]  # type: ignore[attr-defined]
    names = [flag.id for flag in flags]
    calls = {(name, ast.dump(node.value.func)) for name, node in zip(names, pairs, strict=True)}  # type: ignore[attr-defined]
    callees = [name for name, _ in calls]
    others = _bound_elsewhere(scope, frozenset(map(id, flags)))
    return frozenset(name for name in callees if callees.count(name) == 1 < names.count(name)) - others


def _bound_elsewhere(scope: ast.AST, flags: frozenset[int]) -> frozenset[str]:
    names = (node for node in walk(scope) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return frozenset(node.id for node in names if id(node) not in flags)


def _is_of_pair(statement: ast.Assign) -> bool:
    target = statement.targets[0]
    is_pair = len(statement.targets) == 1 and isinstance(target, ast.Tuple) and len(target.elts) == 2
    return is_pair and isinstance(target.elts[1], ast.Name) and isinstance(statement.value, ast.Call)  # type: ignore[attr-defined]


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
