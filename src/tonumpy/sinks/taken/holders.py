"""Tells dicts and sets of Python, of which a tensor is a key, by their values or their spelling."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import is_name, parameter_names
from tonumpy.engine.names.syntax_lowering import stored_in, stored_in_attributes
from tonumpy.engine.values.values import LibraryObject, Mapping, NonTensor, Unknown, Value
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

if TYPE_CHECKING:
    from tonumpy.text.candidates import OperationSite, Scope, Site

MAX_CALLS = 3  # that are followed from what is returned to where it is made

_DICTS = ("collections.defaultdict", "collections.Counter", "collections.OrderedDict")


def is_dict(value: Value) -> bool:
    name = value.name if isinstance(value, LibraryObject) else ""
    return isinstance(value, Mapping) or name in _DICTS or is_counter(value)


def is_counter(value: Value) -> bool:
    return isinstance(value, NonTensor) and value.what == "Counter"


def is_set(node: ast.expr, site: Site | OperationSite) -> bool:
    """By its spelling: a set that stands there, or that a function of the module returns; a name or attribute that is
    given nothing but sets; or a name whose `add` is called."""
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
            return all(
                _is_set(each, scopes, calls_left) for each in given if each is None or not is_name(each, node.id)
            )
        if any(_adds_to(node.id, statement) for statement in statements_of(scope.body)):
            return True
        if isinstance(scope, FUNCTIONS) and node.id in parameter_names(scope.args):
            return False
    return False


def _is_returned(call: ast.Call, scopes: tuple[Scope, ...], calls_left: int) -> bool:
    """True if the function of the module that is called by its name returns nothing but sets."""
    if not isinstance(call.func, ast.Name):
        return False
    meant = [each for each in scopes[0].body if isinstance(each, FUNCTIONS) and each.name == call.func.id]
    returned = [(each.value, each_of) for each_of in meant for each in walk(each_of) if isinstance(each, ast.Return)]
    return bool(returned) and all(_is_set(value, (scopes[0], each), calls_left) for value, each in returned)


def is_set_given(site: Site | OperationSite, receiver: Value) -> bool:
    """True if what a caller gives, of which nothing else is known, is asked what is in it and added to: a set."""
    match site.statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "add"))) if isinstance(receiver, Unknown):
            compared = (each for each in walk(site.scopes[-1]) if isinstance(each, ast.Compare))
            return any(
                isinstance(each.ops[0], (ast.In, ast.NotIn)) and is_name(each.comparators[0], name) for each in compared
            )
    return False


def _is_attribute_of_sets(name: str, module: Scope) -> bool:
    classes = (each for each in walk(module) if isinstance(each, ast.ClassDef))
    given = [*stored_in_attributes(module, name), *(value for each in classes for value in stored_in(each.body, name))]
    return bool(given) and all(map(_makes_set, given))


def _adds_to(name: str, statement: ast.stmt) -> bool:
    """`seen.add(label)`: lists have no such method."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(owner), "add"))):
            return owner == name
    return False


def _makes_set(node: ast.expr | None) -> bool:
    """`set()`, or that of a dataclass: `field(default_factory=set)`."""
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(ast.Name("set" | "frozenset")):
            return True
        case ast.Call(ast.Name("field") | ast.Attribute(attr="field")):
            return any(each.arg == "default_factory" and is_name(each.value, "set") for each in node.keywords)
    return False
