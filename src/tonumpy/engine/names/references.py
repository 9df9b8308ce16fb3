"""From a function or a name to the places of its module that refer to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Sequence as Items
from typing import NamedTuple

from tonumpy.engine.names.bindings import FunctionNode
from tonumpy.engine.names.module import Module
from tonumpy.text.candidates import Scope, spanning
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, children_of, walk


class Reference(NamedTuple):
    """A place that refers to a function; `call` is None if it is passed on without a call."""

    call: ast.Call | None
    scopes: tuple[Scope, ...]
    statement: ast.stmt
    is_attribute: bool  # `model.name`, which is no function of the module


def places_that_name(module: Module, name: str) -> list[Reference]:
    """Every place in a module that names something whose name, or the last part of it, is this."""
    return module.derived_of(_places_that_name, name)


def _rows_with_name(module: Module, name: str) -> list[int]:
    return module.text.rows_with_name(name)


def _places_that_name(module: Module, name: str) -> list[Reference]:
    search = _Search(module, name, module.derived_of(_rows_with_name, name), [])
    _collect(module.tree.body, (module.tree,), search)
    return search.found


class _Search(NamedTuple):
    """The search for a name: in which rows (only statements that span one are entered), and what has been found."""

    module: Module
    name: str
    rows: list[int]
    found: list[Reference]


def functions_named(module: Module, name: str) -> Iterator[FunctionNode]:
    """Functions and methods that the module defines anywhere under a name."""
    return (each for each in walk(module.tree) if isinstance(each, FUNCTIONS) and each.name == name)


def class_around(scopes: Items[ast.AST]) -> ast.ClassDef | None:
    """The class whose body the innermost scope stands in."""
    around = scopes[-2] if len(scopes) > 1 else None
    return around if isinstance(around, ast.ClassDef) else None


def is_nested(scopes: Items[ast.AST]) -> bool:
    """True if the innermost scope is a function within a function."""
    return len(scopes) > 1 and isinstance(scopes[-2], FUNCTIONS)


def references_to(module: Module, scopes: Items[ast.AST]) -> list[Reference]:
    """The places outside the innermost scope, a function, that may refer to it."""
    node = scopes[-1]
    assert isinstance(node, FUNCTIONS)
    found = _references(module, node, class_around(scopes))
    # Of a function within another one, those of the same name elsewhere are not it.
    return [each for each in found if scopes[-2] in each.scopes] if is_nested(scopes) else found


def _references(module: Module, node: FunctionNode, owner: ast.ClassDef | None) -> list[Reference]:
    """Return those that may mean a function, or a method of the class `owner`: its own recursive calls pass on what it
    was given, and show nothing."""
    if owner is None:  # there may be many of one name
        meant = module.derived_of(_places_of_functions, node.name)
    else:
        meant = [each for each in places_that_name(module, node.name) if _may_mean(each, owner)]
    return [reference for reference in meant if node not in reference.scopes]


def _places_of_functions(module: Module, name: str) -> list[Reference]:
    return [each for each in places_that_name(module, name) if _may_mean(each, None)]


def _may_mean(reference: Reference, owner: ast.ClassDef | None) -> bool:
    """True if a place that says the name of a function may mean that function; `owner` is the class of a method.

    A method is an attribute, but in the body of its class; elsewhere its name alone is that of some variable.
    """
    return reference.is_attribute == (owner is not None) or reference.scopes[-1] is owner


def _collect(statements: list[ast.stmt], scopes: tuple[Scope, ...], search: _Search) -> None:
    for statement in spanning(statements, search.rows):
        inner = (*scopes, statement) if isinstance(statement, (ast.ClassDef, *FUNCTIONS)) else scopes
        for field, value in ast.iter_fields(statement):
            _collect_field(value, inner if field == "body" else scopes, statement, search)


def _collect_field(value: object, scopes: tuple[Scope, ...], statement: ast.stmt, search: _Search) -> None:
    if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
        _collect(value, scopes, search)
    elif isinstance(value, list) and value and isinstance(value[0], (ast.ExceptHandler, ast.match_case)):
        for part in value:
            for _, inner in ast.iter_fields(part):
                _collect_field(inner, scopes, statement, search)
    elif isinstance(value, ast.AST) or (isinstance(value, list) and value):
        named = search.module.derived(_named_in, value).get(search.name, ())  # type: ignore[type-var]
        search.found.extend(each._replace(scopes=scopes, statement=statement) for each in named)


def _named_in(value: ast.AST | list[object]) -> dict[str, list[Reference]]:
    """The references in a part of some statement, without their places, by what is named: a part with n calls may be
    asked about each of n names."""
    found: dict[str, list[Reference]] = {}
    for root in value if isinstance(value, list) else [value]:
        if isinstance(root, ast.AST):
            _collect_expression(root, found)
    return found


_NOWHERE = ast.Pass()


def _collect_expression(root: ast.AST, found: dict[str, list[Reference]]) -> None:
    called: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            name = last_name(node.func)
            if name is not None:
                called.add(id(node.func))
                reference = Reference(node, (), _NOWHERE, isinstance(node.func, ast.Attribute))
                found.setdefault(name, []).append(reference)
        elif isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in called and isinstance(node.ctx, ast.Load):
            is_attribute = isinstance(node, ast.Attribute)
            reference = Reference(None, (), _NOWHERE, is_attribute)
            found.setdefault(last_name(node) or "", []).append(reference)
        stack.extend(children_of(node))
