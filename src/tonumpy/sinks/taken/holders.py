"""Whether what a tensor is a key of, or is looked for in, is a dict or set of Python: by its value, or its spelling."""

from __future__ import annotations

import ast

from tonumpy.inference.index.syntax_lowering import stored_in, stored_in_attributes
from tonumpy.inference.lattice.values import LibraryObject, Mapping, NonTensor, Unknown, Value
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.syntax import statements_of, walk

if TYPE_CHECKING:
    from tonumpy.text.candidates import OperationSite, Scope, Site

_DICTS = ("collections.defaultdict", "collections.Counter", "collections.OrderedDict")


def is_dict(value: Value) -> bool:
    name = value.name if isinstance(value, LibraryObject) else ""
    return isinstance(value, Mapping) or name in _DICTS or is_counter(value)


def is_counter(value: Value) -> bool:
    return isinstance(value, NonTensor) and value.what == "Counter"


def is_set(node: ast.expr, site: Site | OperationSite) -> bool:
    """By its spelling: a set that stands there, a name or attribute that is given nothing but sets, or a name whose
    `add` is called."""
    if isinstance(node, ast.Attribute):
        return _is_attribute_of_sets(node.attr, site.scopes[0])
    if not isinstance(node, ast.Name):
        return _makes_set(node)
    for scope in reversed(site.scopes):
        given = stored_in(scope.body, node.id)
        if given:
            return all(map(_makes_set, given))
        if any(_adds_to(node.id, statement) for statement in statements_of(scope.body)):
            return True
    return False


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
    declared = (node for node in walk(module) if isinstance(node, ast.AnnAssign))
    fields = [each.value for each in declared if isinstance(each.target, ast.Name) and each.target.id == name]
    given = [*stored_in_attributes(module, name), *fields]
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
