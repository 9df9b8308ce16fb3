"""Whether what a tensor is a key of, or is looked for in, is a dict or set of Python: by its value, or its spelling."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import arguments_of, given_to, parameter_names
from tonumpy.engine.names.syntax_lowering import stored_in, stored_in_attributes
from tonumpy.engine.values.values import LibraryObject, Mapping, NonTensor, Unknown, Value
from tonumpy.sinks.risk_index import OWN
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.engine.names.bindings import FunctionNode
    from tonumpy.text.candidates import OperationSite, Scope, Site

MAX_CALLS = 3  # that are followed from what is returned, or given, to where it is made

_DICTS = ("collections.defaultdict", "collections.Counter", "collections.OrderedDict")


def is_dict(value: Value) -> bool:
    name = value.name if isinstance(value, LibraryObject) else ""
    return isinstance(value, Mapping) or name in _DICTS or is_counter(value)


def is_counter(value: Value) -> bool:
    return isinstance(value, NonTensor) and value.what == "Counter"


def is_set(node: ast.expr, site: Site | OperationSite) -> bool:
    """By its spelling: a set that stands there, or that a function of the module returns; a name, attribute or
    parameter that is given nothing but sets; or a name whose `add` is called."""
    return _is_set(node, site.scopes, MAX_CALLS)


def _is_set(node: ast.expr | None, scopes: tuple[Scope, ...], calls_left: int) -> bool:
    if isinstance(node, ast.Attribute):
        return _is_attribute_of_sets(node.attr, scopes[0])
    if isinstance(node, ast.Call) and not _makes_set(node):
        return calls_left > 0 and _is_returned(node, scopes, calls_left - 1)
    if not isinstance(node, ast.Name):
        return _makes_set(node)
    for scope in reversed(scopes):
        given = stored_in(scope.body, node.id)
        if given:
            return all(_is_set(each, scopes, calls_left) for each in given if not _is_named(each, node.id))
        if any(_adds_to(node.id, statement) for statement in statements_of(scope.body)):
            return True
        if isinstance(scope, FUNCTIONS) and node.id in parameter_names(scope.args):
            return calls_left > 0 and _is_given_sets(node.id, scope, scopes[0], calls_left - 1)
    return False


def _is_named(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_returned(call: ast.Call, scopes: tuple[Scope, ...], calls_left: int) -> bool:
    """Whether the function of the module that is called by its name returns nothing but sets."""
    if not isinstance(call.func, ast.Name):
        return False
    meant = [each for each in scopes[0].body if isinstance(each, FUNCTIONS) and each.name == call.func.id]
    returned = [(each.value, each_of) for each_of in meant for each in walk(each_of) if isinstance(each, ast.Return)]
    return bool(returned) and all(_is_set(value, (scopes[0], each), calls_left) for value, each in returned)


def _is_given_sets(name: str, function: FunctionNode, module: Scope, calls_left: int) -> bool:
    """Whether the calls of a function in its module give a parameter nothing but sets."""
    names = parameter_names(function.args)
    names = names[names[0] in OWN :]
    given: list[bool] = []
    for scope in (module, *(each for each in walk(module) if isinstance(each, FUNCTIONS))):
        for call in _calls_within(scope, function.name):
            value = given_to(names, call, arguments_of(call)).get(name)
            given.append(_is_set(value, (module, scope), calls_left))
    return bool(given) and all(given)


def _calls_within(scope: Scope, name: str) -> Iterator[ast.Call]:
    """The calls of what has this name, in a scope itself."""
    for statement in statements_of(scope.body):
        for part in (each for own in own_expressions(statement) for each in walk(own)):
            if isinstance(part, ast.Call) and last_name(part.func) == name:
                yield part


def is_set_given(site: Site | OperationSite, receiver: Value) -> bool:
    """Whether what a caller gives, of which nothing else is known, is asked what is in it and added to: a set."""
    if not isinstance(receiver, Unknown) or not isinstance(site.statement, ast.Expr):
        return False
    function = site.call.func if isinstance(site.call, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr != "add" or not isinstance(function.value, ast.Name):
        return False
    compared = (each for each in walk(site.scopes[-1]) if isinstance(each, ast.Compare))
    asked = (each.comparators[0] for each in compared if isinstance(each.ops[0], (ast.In, ast.NotIn)))
    return any(isinstance(each, ast.Name) and each.id == function.value.id for each in asked)


def _is_attribute_of_sets(name: str, module: Scope) -> bool:
    classes = (each for each in walk(module) if isinstance(each, ast.ClassDef))
    given = [*stored_in_attributes(module, name), *(value for each in classes for value in stored_in(each.body, name))]
    return bool(given) and all(map(_makes_set, given))


def _adds_to(name: str, statement: ast.stmt) -> bool:
    """`seen.add(label)`: lists have no such method."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    is_method = isinstance(function, ast.Attribute) and function.attr == "add"
    return is_method and isinstance(function.value, ast.Name) and function.value.id == name  # type: ignore[union-attr]


def _makes_set(node: ast.expr | None) -> bool:
    """`set()`, or that of a dataclass: `field(default_factory=set)`."""
    if not isinstance(node, ast.Call):
        return isinstance(node, (ast.Set, ast.SetComp))
    if last_name(node.func) == "field":
        return any(each.arg == "default_factory" and last_name(each.value) == "set" for each in node.keywords)
    return isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset")
