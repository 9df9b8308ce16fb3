"""The functions of a module that a run over another one goes into where they are called."""

from __future__ import annotations

import ast
from typing import NamedTuple

from tonumpy.detectors.memory_writes import steps_optimizer
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.grad_contexts import GRAD_DECORATORS
from tonumpy.engine.names.bindings import OBJECTS
from tonumpy.text.candidates import Scope, find_calls
from tonumpy.text.names import last_name
from tonumpy.text.source import Source
from tonumpy.text.syntax import SCOPES, statements_of, walk

_DECORATORS = frozenset(("staticmethod", "classmethod", *GRAD_DECORATORS))  # others may do anything


class Callee(NamedTuple):
    """A function of the module, and the class whose method it is."""

    node: ast.FunctionDef
    owner: ast.ClassDef | None

    @property
    def takes_object(self) -> bool:
        return self.owner is not None and not any(map(_is_static, self.node.decorator_list))

    @property
    def gives_value(self) -> bool:
        """True unless it is there for what it does to its arguments."""
        returned = (each for each in statements_of(self.node.body) if isinstance(each, ast.Return))
        return any(each.value is not None for each in returned)


class Callees:
    """The functions and methods of one module, by their names."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.relevant: set[int] = set()  # the ids of functions that hold what is looked for, or call one
        self._functions: dict[str, list[Callee]] = {}
        self._methods: dict[str, list[Callee]] = {}
        for statement in source.tree.body:
            owner = statement if isinstance(statement, ast.ClassDef) else None
            named = self._functions if owner is None else self._methods
            for each in [statement] if owner is None else owner.body:
                if isinstance(each, SCOPES):
                    named.setdefault(each.name, []).extend(
                        [Callee(each, owner)] if isinstance(each, ast.FunctionDef) else []
                    )

    def meant(self, call: ast.Call, owner: ast.ClassDef | None) -> Callee | None:
        """Return what `helper(x)`, `self.helper(x)` and `buffer.helper(x)` call, if one function has such a name.

        `owner` is the class around. Methods that tensors have, too, are followed on `self` alone.
        """
        function = call.func
        if isinstance(function, ast.Name):
            found = self._functions.get(function.id, [])
        elif isinstance(function, ast.Attribute):
            found = self._methods.get(function.attr, [])
            if isinstance(function.value, ast.Name) and function.value.id in OBJECTS:
                found = [each for each in found if each.owner is owner]
            elif torch_api.tensor_method(function.attr) is not None or steps_optimizer(call):
                return None
        else:
            return None
        return found[0] if len(found) == 1 and _is_plain(call) and _runs_as_it_stands(found[0].node) else None

    def callers_of(self, scope: Scope) -> list[tuple[Scope, ...]]:
        """Return the functions that call one by its name, each with what stands around it."""
        name = getattr(scope, "name", "")
        if name not in self._functions and name not in self._methods:
            return []
        rows = sorted(self._source.rows_with_name(name))
        return [each.scopes for each in find_calls(self._source, rows, lambda call: last_name(call.func) == name)]


def _is_plain(call: ast.Call) -> bool:
    """True for a call that spreads nothing over its parameters."""
    return not any(each.arg is None for each in call.keywords) and not any(
        isinstance(each, ast.Starred) for each in call.args
    )


def _runs_as_it_stands(function: ast.FunctionDef) -> bool:
    """True if a call runs the body, whatever decorates it, and runs it at once."""
    is_generator = any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in walk(function))
    return not is_generator and all(map(_is_known, function.decorator_list))


def _is_known(decorator: ast.expr) -> bool:
    return last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in _DECORATORS


def _is_static(decorator: ast.expr) -> bool:
    return last_name(decorator) == "staticmethod"
