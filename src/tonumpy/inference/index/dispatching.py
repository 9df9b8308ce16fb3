"""From a class or module body to the `functools.singledispatch` functions in it and their registered variants."""

from __future__ import annotations

import ast

from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonumpy.inference.index.bindings import FunctionNode

_DISPATCHERS = ("singledispatch", "singledispatchmethod")


class Variant(NamedTuple):
    """A function that is registered for a class, which an expression names."""

    cls: ast.expr
    function: FunctionNode


def is_dispatcher(node: ast.AST) -> bool:
    """Whether a function is the one under whose name others are registered."""
    return isinstance(node, FUNCTIONS) and any(last_name(each) in _DISPATCHERS for each in node.decorator_list)


def variants_in(scope: ast.Module | ast.ClassDef) -> dict[str, list[Variant]]:
    """Those in the body of a module or class, by the name under which they are registered."""
    found: dict[str, list[Variant]] = {}
    for node in scope.body:
        for decorator in node.decorator_list if isinstance(node, FUNCTIONS) else ():
            registered = registered_for(decorator)
            if registered is not None and isinstance(node, FUNCTIONS):
                name, cls = registered
                cls = cls or _annotation_of_first(node, is_method=isinstance(scope, ast.ClassDef))
                if cls is not None:
                    found.setdefault(name, []).append(Variant(cls, node))
    return found


def registered_for(decorator: ast.expr) -> tuple[str, ast.expr | None] | None:
    """`f` and the class of `@f.register(cls)`; of `@f.register` the annotation tells it."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if not isinstance(called, ast.Attribute) or called.attr != "register" or not isinstance(called.value, ast.Name):
        return None
    given = decorator.args if isinstance(decorator, ast.Call) else []
    return called.value.id, given[0] if given else None


def _annotation_of_first(node: FunctionNode, *, is_method: bool) -> ast.expr | None:
    parameters = [*node.args.posonlyargs, *node.args.args][int(is_method) :]
    return parameters[0].annotation if parameters else None


def dispatcher_of(scopes: Sequence[ast.AST]) -> FunctionNode | None:
    """The function under whose name the innermost scope is registered for a class; None where it is not."""
    node, around = scopes[-1], scopes[-2]
    if not isinstance(node, FUNCTIONS) or not node.decorator_list or not isinstance(around, (ast.Module, ast.ClassDef)):
        return None
    names = {registered[0] for each in node.decorator_list if (registered := registered_for(each)) is not None}
    found = [each for each in around.body if isinstance(each, FUNCTIONS) and each.name in names and is_dispatcher(each)]
    return found[-1] if found else None
