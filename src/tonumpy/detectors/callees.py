"""The functions of a module whose bodies a run enters where they are called."""

from __future__ import annotations

import ast
from typing import NamedTuple

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.grad_contexts import GRAD_DECORATORS
from tonumpy.engine.names.bindings import OBJECTS, parameters_of
from tonumpy.text.candidates import Scope, find_calls
from tonumpy.text.names import last_name
from tonumpy.text.source import Source
from tonumpy.text.syntax import statements_of, walk

_DECORATORS = frozenset(("staticmethod", "classmethod", *GRAD_DECORATORS))  # others may do anything


class Callee(NamedTuple):
    """A function of the module, and its class if it is a method."""

    node: ast.FunctionDef
    owner: ast.ClassDef | None

    @property
    def takes_object(self) -> bool:
        return self.owner is not None and all(last_name(each) != "staticmethod" for each in self.node.decorator_list)

    @property
    def gives_value(self) -> bool:
        """True if it returns a value; else it is called for its effect on its arguments."""
        returned = (each for each in statements_of(self.node.body) if isinstance(each, ast.Return))
        return any(each.value is not None for each in returned)


class Callees:
    """The functions and methods of one module, by their names."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.relevant: set[int] = set()  # the ids of functions that hold conversions, or call one that does
        self._functions: dict[str, list[Callee]] = {}
        self._methods: dict[str, list[Callee]] = {}
        self._plain: dict[ast.FunctionDef, bool] = {}
        self._callers: dict[str, list[tuple[Scope, ...]]] = {}
        for statement in source.tree.body:
            owner = statement if isinstance(statement, ast.ClassDef) else None
            named = self._functions if owner is None else self._methods
            for each in [statement] if owner is None else owner.body:
                if isinstance(each, ast.FunctionDef):
                    named.setdefault(each.name, []).append(Callee(each, owner))

    def meant(self, call: ast.Call, owner: ast.ClassDef | None) -> Callee | None:
        """The one function of the module that `helper(x)`, `self.helper(x)` or `buffer.helper(x)` may call, or None.
        `owner` is the enclosing class. Methods that tensors have too are followed on `self` alone.
        """
        function, found = call.func, list[Callee]()
        if isinstance(function, ast.Name):
            found = self._functions.get(function.id, [])
        elif isinstance(function, ast.Attribute):
            found = self._methods.get(function.attr, [])
            if isinstance(function.value, ast.Name) and function.value.id in OBJECTS:
                found = [each for each in found if each.owner is owner]
            elif torch_api.tensor_method(function.attr) is not None:
                return None
        spreads = any(each.arg is None for each in call.keywords) or any(isinstance(x, ast.Starred) for x in call.args)
        return found[0] if len(found) == 1 and not spreads and self._is_plain(found[0].node) else None

    def _is_plain(self, function: ast.FunctionDef) -> bool:
        if function not in self._plain:
            self._plain[function] = _runs_at_once(function)
        return self._plain[function]

    def callers_of(self, scope: Scope) -> list[tuple[Scope, ...]]:
        """The functions that call a function by its name, each as its enclosing scopes and itself."""
        name = getattr(scope, "name", "")
        if name not in self._callers and (name in self._functions or name in self._methods):
            rows = sorted(self._source.rows_with_name(name))
            calls = find_calls(self._source, rows, lambda call: last_name(call.func) == name)
            self._callers[name] = [each.scopes for each in calls]
        return self._callers.get(name, [])


def _runs_at_once(function: ast.FunctionDef) -> bool:
    """True if a call runs the body at once (known decorators, no generator), and no parameter is tested as a flag."""
    decorators = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    nodes = list(walk(function))
    tests = (each.test for each in nodes if isinstance(each, (ast.If, ast.IfExp)))
    flags = (each.operand if isinstance(each, ast.UnaryOp) else each for each in tests)
    parameters = parameters_of(function)
    return (
        all(last_name(each) in _DECORATORS for each in decorators)
        and not any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in nodes)
        and not any(isinstance(each, ast.Name) and each.id in parameters for each in flags)
    )
