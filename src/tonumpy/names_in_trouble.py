"""A function, class or module in; its names out of which something is said of grad or devices, or of what they are
made of."""

from __future__ import annotations

import ast

from tonumpy.chains import last_name
from tonumpy.inference.dependencies import flow_of_node, names_bound, reachable
from tonumpy.inference.symbols import arguments_of, bindings_of, names_in, names_read, parameter_names, read_name
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.syntax import FUNCTIONS, SCOPES, children_of, own_expressions, statements_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.candidates import Scope, Site
    from tonumpy.trouble import Trouble


class NamesInTrouble:
    """Those of one source."""

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble
        self._known: dict[ast.AST, set[str]] = {}

    def are_given(self, site: Site) -> bool:
        """Whether something is said of grad or devices where the arguments of a call come from."""
        arguments = arguments_of(site.call)
        given, _ = _values_in(arguments, _parameters(site.scopes[-1]))
        for scope in reversed(site.scopes[-2:]):
            if isinstance(scope, ast.ClassDef) and not any(name.startswith("self.") for name in given):
                continue
            if not self._of(scope).isdisjoint(given):
                return True
        return any(map(self._trouble.is_in, arguments))

    def _of(self, scope: Scope) -> set[str]:
        if scope not in self._known:
            self._known[scope] = self._search(scope)
        return self._known[scope]

    def _search(self, scope: Scope) -> set[str]:
        """Of a function or module its variables, of a class the attributes that its methods give to `self`."""
        if not isinstance(scope, ast.Module) and not self._trouble.is_in(scope):
            return set()
        if isinstance(scope, ast.ClassDef):
            methods = [each for each in scope.body if isinstance(each, FUNCTIONS)]
            return {name for method in methods for name in self._of(method) if name.startswith("self.")}
        said = {
            name
            for statement in statements_of(scope.body)
            if self._trouble.is_in(statement) and any(map(self._trouble.is_in, own_expressions(statement)))
            for name in self._concerned(statement)
        }
        if not said:
            return said
        readers = _readers_of_objects(scope)
        if all(name in readers and readers[name] <= said for name in said):
            return said
        flow = flow_of_node(scope)
        said = {name for name in said if name in flow.times_bound or "." in name}  # no imports
        dependents: dict[str, set[str]] = {}
        for name, sources in flow.sources.items():
            for each in sources:
                if each not in readers or name in readers[each]:
                    dependents.setdefault(each, set()).add(name)
        return reachable(said, dependents)

    def _concerned(self, statement: ast.stmt) -> set[str]:
        """The names that a statement binds, or those that it calls a method on: `model.to(place)`; of any other all
        that are in it, without the statements inside it."""
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and not any(map(self._trouble.is_in, arguments_of(call))):
            return _called_upon(statement) or names_read(statement)
        return set(names_bound(statement)) or names_read(statement)


def _readers_of_objects(scope: Scope) -> dict[str, set[str]]:
    """The variables that are called somewhere, each with the names that have to do with it in another way.

    What is called is no tensor: where it is says nothing of what it gives, unless something is given to it that is
    there too. Of the parameters nobody knows.
    """
    parameters = _parameters(scope)
    called: set[str] = set()
    functions: set[str] = set()
    readers: dict[str, set[str]] = {}
    for statement in statements_of(scope.body):
        if isinstance(statement, SCOPES):
            functions.add(statement.name)
            continue
        values, objects = _values_in(own_expressions(statement), parameters)
        called |= objects
        # What a method is called on for its effect alone gives nothing to anybody: `model.to(place)`.
        for name in values - _called_upon(statement):
            readers.setdefault(name, set()).update(names_bound(statement), values)
        if any(_makes_function(value) for _, value in bindings_of(statement)):
            functions.update(names_bound(statement))
    return {name: readers.get(name, set()) for name in called - functions}


def _called_upon(statement: ast.stmt) -> set[str]:
    """The names of what a method is called on for its effect alone."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return names_in(call.func.value) if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else set()


def _makes_function(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Lambda) or (isinstance(value, ast.Call) and last_name(value.func) == "partial")


def _values_in(nodes: Iterable[ast.AST], parameters: frozenset[str]) -> tuple[set[str], set[str]]:
    """The names that expressions read, but for those that are only called without a parameter; and these."""
    values: set[str] = set()
    called: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call) and (name := read_name(node.func)) is not None:
            given = arguments_of(node)
            is_given = any(not parameters.isdisjoint(names_in(argument)) for argument in given)
            (values if is_given else called).add(name)
            stack += given
        elif isinstance(node, (ast.Name, ast.Attribute)) and (name := read_name(node)) is not None:
            values.add(name)
        else:
            stack += children_of(node)
    return values, called


def _parameters(scope: Scope) -> frozenset[str]:
    return frozenset(parameter_names(scope.args)) if isinstance(scope, FUNCTIONS) else frozenset()
