"""A function, class or module in; its names out of which something is said of grad or devices, or of what they are
made of."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import (
    arguments_of,
    bindings_of,
    bound_names,
    makes_function,
    names_given,
    names_in,
    names_read,
    parameters_of,
    read_name,
    reads_any,
    root_name,
)
from tonumpy.inference.index.dependencies import names_bound, reachable
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of, own_expressions, statements_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tonumpy.sinks.trouble import Trouble
    from tonumpy.text.candidates import Scope, Site


class _Found(NamedTuple):
    """The names of a scope that are in trouble, and those that are functions."""

    names: set[str]
    functions: set[str]


class NamesInTrouble:
    """Those of one source."""

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble
        self._known: dict[ast.AST, _Found] = {}

    def are_given(self, site: Site) -> bool:
        """Whether something is said of grad or devices where the arguments of a call come from."""
        arguments = arguments_of(site.call)
        given = _reads_of(arguments, parameters_of(site.scopes[-1]))
        for scope in reversed(site.scopes[-2:]):
            if isinstance(scope, ast.ClassDef) and not any(name.startswith("self.") for name in given.values):
                continue
            found = self._of(scope)
            if not found.names.isdisjoint(given.values | (given.called & found.functions)):
                return True
        return any(map(self._trouble.is_in, arguments))

    def _of(self, scope: Scope) -> _Found:
        if scope not in self._known:
            self._known[scope] = self._search(scope)
        return self._known[scope]

    def _search(self, scope: Scope) -> _Found:
        """Of a function or module its variables, of a class the attributes that its methods give to `self`."""
        if not isinstance(scope, ast.Module) and not self._trouble.is_in(scope):
            return _Found(set(), set())
        if isinstance(scope, ast.ClassDef):
            names = [name for each in scope.body if isinstance(each, FUNCTIONS) for name in self._of(each).names]
            return _Found({name for name in names if name.startswith("self.")}, set())
        said = {
            name
            for statement in statements_of(scope.body)
            if self._trouble.is_in(statement) and any(map(self._trouble.is_in, own_expressions(statement)))
            for name in self._concerned(statement)
        }
        if not said:
            return _Found(said, set())
        bound, functions, dependents = _dependencies(scope)
        said = {name for name in said if name in bound or "." in name}  # no imports
        return _Found(reachable(said, dependents), functions)

    def _concerned(self, statement: ast.stmt) -> set[str]:
        """The names that a statement binds, or those that it calls a method on: `model.to(place)`; of any other all
        that are in it, without the statements inside it."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and not any(map(self._trouble.is_in, arguments_of(call))):
            return _called_upon(statement) or names_read(statement)
        return set(names_bound(statement)) or names_read(statement)


class _Reads(NamedTuple):
    """What expressions read."""

    values: set[str]
    called: set[str]  # names that are only called, and without a parameter
    calls: list[ast.Call]
    walruses: list[ast.NamedExpr]


def _dependencies(scope: Scope) -> tuple[set[str], set[str], dict[str, set[str]]]:
    """The names that are bound in a function or module, those of functions, and for each name those that something is
    given to out of it.

    A variable that is called is no tensor: where it is says nothing of what it gives, unless something is given to it
    that is there too. Of the parameters nobody knows.
    """
    parameters = parameters_of(scope)
    bound = set(parameters)
    functions: set[str] = set()
    reads: list[tuple[ast.stmt, _Reads]] = []
    dependents: dict[str, set[str]] = {}

    def give(sources: Iterable[str], targets: Collection[str]) -> None:
        for source in sources if targets else ():
            dependents.setdefault(source, set()).update(targets)

    for statement in statements_of(scope.body):
        if isinstance(statement, SCOPES):
            functions.add(statement.name)
            give(names_in(statement), (statement.name,))
            continue
        reads.append((statement, _reads_of(own_expressions(statement), parameters)))
        for targets, value in bindings_of(statement):
            names = {name for target in targets for name in bound_names(target)}
            bound |= names
            if makes_function(value):
                functions |= names
            give(names, _held_by(value))  # what is done to one is done to the other
    for statement, read in reads:
        values = read.values | (read.called & functions)
        give(values, set(names_bound(statement)))
        for walrus in read.walruses:
            give(values, set(bound_names(walrus.target)))
        for call in read.calls:
            receiver = root_name(call.func) if isinstance(call.func, ast.Attribute) else None
            if receiver is not None:  # `items.append(x)`
                give((name for argument in arguments_of(call) for name in names_in(argument)), (receiver,))
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            # What is called for its effect alone may fill what it is given; not so what its method is called on.
            give(values - _called_upon(statement), names_given(statement.value))
    return bound, functions, dependents


def _held_by(value: ast.expr | None) -> set[str]:
    """The name of what a variable is made of without anything being computed: `x`, `x[0]`, `x.data`."""
    name = root_name(value) if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)) else None
    return set() if name is None else {name}


def _reads_of(nodes: Iterable[ast.AST], parameters: frozenset[str]) -> _Reads:
    read = _Reads(set(), set(), [], [])
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Name, ast.Attribute)) and (name := read_name(node)) is not None:
            read.values.add(name)
            continue
        if isinstance(node, ast.Call):
            read.calls.append(node)
            name = read_name(node.func)
            if name is not None:
                given = arguments_of(node)
                (read.values if reads_any(given, parameters) else read.called).add(name)
                stack += given
                continue
        elif isinstance(node, ast.NamedExpr):
            read.walruses.append(node)
        stack += children_of(node)
    return read


def _called_upon(statement: ast.stmt) -> set[str]:
    """The names of what a method is called on for its effect alone."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return names_in(call.func.value) if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else set()
