"""A function and an expression in it in; whether the spelling alone shows that nothing in its value can raise, out.

Harmless are arrays, numbers and strings, containers of such, and what is made by torch or taken from the arguments of
a function without a word of grad or of devices: all that a rule could ever say of these is "unknown".
"""

from __future__ import annotations

import ast
from types import MappingProxyType

from tonumpy.inference.index.bindings import (
    arguments_of,
    bindings_of,
    bound_names,
    makes_function,
    names_in,
    parameters_of,
    reads_any,
    root_name,
)
from tonumpy.inference.index.torch_words import FILLING
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.syntax import statements_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tonumpy.text.candidates import Scope

# Methods whose result is no tensor, whatever they are called on.
_PLAIN_METHODS = frozenset("numpy item tolist size dim numel astype format split join strip keys convert".split())
_PLAIN_ATTRIBUTES = frozenset("shape dtype ndim size".split())
_PLAIN_FUNCTIONS = frozenset("len range int float str bool round repr print isinstance type id ord input open".split())
# Functions that give what they are given, or parts of it.
_PASSING = frozenset("list tuple set dict sorted reversed zip enumerate max min sum abs iter next map filter".split())


class Harmless:
    """The names of one scope. `libraries`: names of imports whose results are harmless; `speaks`: whether an
    expression says something of grad or of devices."""

    def __init__(
        self, scope: Scope, plain: frozenset[str], torch: frozenset[str], speaks: Callable[[ast.expr], bool]
    ) -> None:
        self._plain = plain
        self._libraries = plain | torch
        self._speaks = speaks
        self._values: dict[str, list[ast.expr | None]] = {}
        self._parameters = parameters_of(scope)
        self._known: dict[str, bool] = {}
        for statement in statements_of(scope.body):
            self._collect(statement)

    def _collect(self, statement: ast.stmt) -> None:
        for targets, value in bindings_of(statement):
            for target in targets:
                self._bind(target, None if isinstance(target, ast.Attribute) and self._speaks(target) else value)
        if isinstance(statement, (ast.If, ast.While, ast.Assert)) and self._speaks(statement.test):
            for name in names_in(statement.test):  # the test may show something of it
                self._values.setdefault(name, []).append(None)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            given = arguments_of(call)
            changed = root_name(call.func)
            if changed is not None and isinstance(call.func, ast.Attribute):
                values = given if call.func.attr in FILLING else [call]
                self._values.setdefault(changed, []).extend(values)
            if changed not in self._libraries and changed != "print":
                for argument in given:  # what is called for its effect alone may fill what it is given
                    if isinstance(argument, ast.Name):
                        self._values.setdefault(argument.id, []).append(None)
        elif isinstance(statement, (ast.Global, ast.Nonlocal)):
            for name in statement.names:
                self._values.setdefault(name, []).append(None)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            for index, part in enumerate(target.elts):
                self._bind(part, parts[index] if len(parts) == len(target.elts) else value)
            return
        for name in bound_names(target):
            self._values.setdefault(name, []).append(value)

    def is_harmless(self, node: ast.expr | None, inner: Mapping[str, bool] = MappingProxyType({})) -> bool:
        """`inner` are the variables of the comprehensions around it, and whether they are harmless."""
        if node is None:
            return False
        if isinstance(node, ast.Name):
            return inner[node.id] if node.id in inner else self._is_harmless_name(node.id)
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return True
        if isinstance(node, ast.Call):
            return self._is_harmless_call(node, inner)
        if isinstance(node, ast.Attribute):
            if node.attr in _PLAIN_ATTRIBUTES:
                return True
            return self.is_harmless(node.value, inner) and not self._speaks(node)
        if isinstance(node, (ast.Subscript, ast.Starred)):
            return self.is_harmless(node.value, inner)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            for generator in node.generators:
                is_harmless = self.is_harmless(generator.iter, inner)
                inner = {**inner, **dict.fromkeys(bound_names(generator.target), is_harmless)}
            return self.is_harmless(node.elt, inner)
        if isinstance(node, ast.IfExp):
            return self.is_harmless(node.body, inner) and self.is_harmless(node.orelse, inner)
        if isinstance(node, ast.BinOp):
            while isinstance(node, ast.BinOp):  # a long sum leans to the left
                if not self.is_harmless(node.right, inner):
                    return False
                node = node.left
            return self.is_harmless(node, inner)
        if isinstance(node, (ast.BoolOp, ast.UnaryOp, ast.Compare, ast.List, ast.Tuple, ast.Set, ast.Dict)):
            parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
            return all(self.is_harmless(part, inner) for part in parts)
        return False

    def _is_harmless_name(self, name: str) -> bool:
        if name not in self._known:
            self._settle(name)
        return self._known[name]

    def _settle(self, name: str) -> None:
        """Take all that the name is made of for harmless, until that holds together."""
        waiting, reached = [name], {name}
        while waiting:
            for value in self._values.get(waiting.pop(), ()):
                for other in names_in(value) - reached if value is not None else ():
                    reached.add(other)
                    waiting.append(other)
        open_names = [each for each in reached if each not in self._known]
        for each in open_names:
            is_known = each in self._values or each in self._parameters or each in self._libraries
            self._known[each] = is_known and each not in ("self", "cls")
        is_settled = False
        while not is_settled:
            is_settled = True
            for each in open_names:
                if self._known[each] and not all(self.is_harmless(value) for value in self._values.get(each, ())):
                    self._known[each] = is_settled = False

    def _is_object(self, name: str, given: list[ast.expr]) -> bool:
        """Whether a variable is called, which is then no tensor, with nothing that may have been sent where it is."""
        if name not in self._values or any(map(makes_function, self._values[name])):
            return False
        return not reads_any(given, self._parameters)

    def _is_harmless_call(self, call: ast.Call, inner: Mapping[str, bool]) -> bool:
        function = call.func
        given = arguments_of(call)
        if root_name(function) in self._plain:
            return True
        if isinstance(function, ast.Name):
            if function.id in _PLAIN_FUNCTIONS:
                return True
            if function.id not in _PASSING and not (
                self._is_object(function.id, given) or self.is_harmless(function, inner)
            ):
                return False
        elif isinstance(function, ast.Attribute):
            if function.attr in _PLAIN_METHODS:
                return True
            if not self.is_harmless(function.value, inner) or function.attr[:1].isupper():
                return False  # the parameters of a module require grad
        else:
            return False
        return not self._speaks(call) and all(self.is_harmless(argument, inner) for argument in given)
