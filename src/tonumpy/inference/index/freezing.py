"""From a class, function or loop to whether it leaves the parameters of a module frozen, by its text alone."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import is_false, is_name, parameter_names, read_name, requires_grad_given
from tonumpy.inference.index.class_bodies import members_defined, method_called_on
from tonumpy.inference.index.def_use import def_use_of
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.syntax import statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence as Items

    from tonumpy.facts import Fact
    from tonumpy.inference.index.bindings import FunctionNode

_PASSING_OVER = (ast.Continue, ast.Break, ast.Return)
OF_ALL_PARAMETERS = ("parameters", "named_parameters")


def freezes_itself(node: ast.ClassDef) -> bool:
    """A constructor that freezes everything, by itself or by a method, and makes no other layer after that."""
    init = members_defined(node).methods.get("__init__")
    freezing = [name for name, left in grad_left_by_methods(node).items() if left is False]
    return init is not None and _ends_frozen(init.body, "self", freezing)


def grad_left_by_methods(node: ast.ClassDef) -> dict[str, Fact]:
    """Of the methods that freeze everything, False; of those that set something to what may require grad, None."""
    found: dict[str, Fact] = {}
    for name, method in members_defined(node).methods.items():
        if thaws(method):
            found[name] = None
        elif _ends_frozen(method.body, "self"):
            found[name] = False
    return found


def frozen_by(function: FunctionNode) -> dict[str, str | None]:
    """The parameters whose modules a function leaves frozen: `freeze(net)`. Each with the flag that has to be False
    (`set_requires_grad(net, False)`), None where there is none."""
    names = parameter_names(function.args)
    given = _all_given(function)
    flags = {name for node in given if (name := read_name(node)) in names}
    if len(flags) > 1 or not all(is_false(node) or read_name(node) in flags for node in given):
        return {}
    flag = next(iter(flags), None)
    frozen = [name for name in names if name != flag and _ends_frozen(function.body, name, flag=flag)]
    times_bound = def_use_of(function).times_bound if frozen else {}
    return {name: flag for name in frozen if times_bound[name] == 1 and times_bound.get(flag or name) == 1}


def all_set(statement: ast.stmt) -> tuple[ast.expr, list[ast.expr]] | None:
    """The module of which a statement sets all parameters, and what it sets their `requires_grad` to.

    `module.requires_grad_(False)`, or a loop over `module.parameters()`, or over all `module.modules()`, that does so.
    """
    if isinstance(statement, ast.Expr):
        method = statement.value.func if isinstance(statement.value, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr == "requires_grad_":
            return method.value, list(requires_grad_given(statement))
    if not isinstance(statement, (ast.For, ast.AsyncFor)) or not isinstance(statement.iter, ast.Call):
        return None
    source = statement.iter
    if not isinstance(source.func, ast.Attribute) or source.args or source.keywords:
        return None  # not those of its parts
    inner = list(statements_of(statement.body))
    if any(isinstance(each, _PASSING_OVER) for each in inner):
        return None
    if source.func.attr in OF_ALL_PARAMETERS:
        is_always_set = any(any(requires_grad_given(each)) for each in statement.body)
    else:
        name = getattr(statement.target, "id", None)
        parts = [found[0] for each in statement.body for found in [all_set(each)] if found is not None]
        is_always_set = source.func.attr == "modules" and any(is_name(part, name) for part in parts)
    given = [node for each in inner for node in requires_grad_given(each)]
    return (source.func.value, given) if is_always_set else None


def _ends_frozen(body: Items[ast.stmt], owner: str, methods: Collection[str] = (), *, flag: str | None = None) -> bool:
    """Whether a body freezes all of what is called `owner`, whatever way leads to its end, and makes no other layer
    after that. `methods` of it do so, too; `flag` is a name that is False."""
    is_frozen = False
    for statement in body:
        if _freezes(statement, owner, methods, flag):
            is_frozen = True
        elif is_frozen:
            if isinstance(statement, ast.Return):
                return True
            if not isinstance(statement, ast.Expr) or not _leaves_alone(statement, owner):
                return False
        elif any(isinstance(each, ast.Return) for each in statements_of([statement])):
            return False
    return is_frozen


def _freezes(statement: ast.stmt, owner: str, methods: Collection[str], flag: str | None) -> bool:
    if methods and isinstance(statement, ast.Expr) and method_called_on(owner, statement.value) in methods:
        return True
    found = all_set(statement)
    if found is None or read_name(found[0]) != owner:
        return False
    return all(is_false(given) or (flag is not None and read_name(given) == flag) for given in found[1])


def _leaves_alone(statement: ast.Expr, owner: str) -> bool:
    """`module.eval()`, `print("frozen")`"""
    if method_called_on(owner, statement.value) == "eval":
        return True
    return not any(isinstance(node, ast.Name) and node.id == owner for node in walk(statement))


def thaws(node: ast.ClassDef | FunctionNode) -> bool:
    """Whether something is set to what may require grad anywhere in a class or function."""
    return not all(map(is_false, _all_given(node)))


def _all_given(node: ast.ClassDef | FunctionNode) -> list[ast.expr]:
    """What is said of `requires_grad` anywhere in a class or function."""
    statements = (each for each in walk(node) if isinstance(each, ast.stmt))
    return [given for each in statements for given in requires_grad_given(each)]
