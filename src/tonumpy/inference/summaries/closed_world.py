"""The closed world: from a function to whether all its callers are in its own module, so that no other call exists."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.grad_contexts import GRAD_DECORATORS
from tonumpy.engine.names.bindings import parameter_names
from tonumpy.engine.names.module_names import tree_of
from tonumpy.engine.names.references import (
    class_around,
    is_called_on_self_alone,
    is_named_again,
    is_nested,
    references_to,
)
from tonumpy.inference.summaries.repository_callers import is_for_others, may_be_imported
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence as Items

    from tonumpy.engine.names.bindings import FunctionNode
    from tonumpy.engine.names.module import Module


def may_be_asked(module: Module, scopes: Items[ast.AST]) -> bool:
    """True if at least some callers of the innermost scope, a function, are in its module."""
    node = scopes[-1]
    if not isinstance(node, FUNCTIONS):
        return False
    return all_callers_are_known(module, scopes) or is_called_in_its_module(module, node)


def all_callers_are_known(module: Module, scopes: Items[ast.AST]) -> bool:
    """True if no code outside the module calls the innermost scope, a function: it is nested, private, or of a test or
    script."""
    node = scopes[-1]
    assert isinstance(node, FUNCTIONS)
    if is_nested(scopes):
        return True
    if any(not keeps_callers_known(decorator) for decorator in node.decorator_list):
        return False
    owner = class_around(scopes)
    if owner is not None and is_special(node.name):
        return False  # whoever makes or calls an object
    if node.name.startswith("_") and not node.name.endswith("__"):
        # A base in another file may call it: who else would, where nobody in its module does?
        return owner is None or not owner.bases or bool(references_to(module, scopes))
    if module.use.is_test:
        return True
    if not module.use.is_script:
        return False
    if is_for_others(module, scopes):
        # But for the methods that do a part of its own work.
        return owner is not None and is_called_on_self_alone(module, owner, node)
    # What nothing is given works on the same whoever calls it.
    takes_nothing = owner is None and not parameter_names(node.args)
    top = scopes[1]
    assert isinstance(top, (ast.ClassDef, *FUNCTIONS))
    return takes_nothing or not may_be_imported(module, top.name)


def all_objects_are_known(module: Module, owner: ast.ClassDef) -> bool:
    """True if no code outside the module makes objects of a class, nor does a class that extends it: it stands at the
    top of a test or script."""
    if not (module.use.is_test or module.use.is_script) or owner not in tree_of(module.source).body:
        return False
    if module.names.lists(owner) or module.use.is_in_package or may_be_imported(module, owner.name):
        return False
    return re.search(rf"\bclass[ \t]+\w+\([^)]*\b{owner.name}\b", module.source.text) is None


def is_special(name: str) -> bool:
    """True for methods that are called without their name, as `__call__`; `super().__init__()` names that of a base."""
    return name.startswith("__") and name.endswith("__")


def is_called_in_its_module(module: Module, node: FunctionNode) -> bool:
    """True if a public function or method is called in its module, whoever else may call it."""
    if node.name == "forward" or node.name.startswith("__"):
        return False  # it is called without its name
    return is_named_again(module, node.name) and all(map(keeps_callers_known, node.decorator_list))


def keeps_callers_known(decorator: ast.expr) -> bool:
    """True if the decorator does not register the function with code that calls it later."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _DECORATORS  # fmt: skip


# Decorators that leave the parameters of a function as they are.
_DECORATORS = frozenset(
    "staticmethod classmethod cache lru_cache wraps contextmanager jit script"
    " torch_compile compile rank_zero_only on_main_process main_process_only override final typechecked beartype"
    " jaxtyped".split()
).union(GRAD_DECORATORS)
