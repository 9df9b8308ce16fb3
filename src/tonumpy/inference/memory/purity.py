"""Purity: from a scope to which of its names and attributes may change while it runs, and who is given them."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import arguments_of, defaults_of, imports_of, parameter_names, path_of
from tonumpy.inference.memory.effects import Given, given_by
from tonumpy.inference.memory.regions import NOTHING
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of

if TYPE_CHECKING:
    from tonumpy.inference.memory.effects import Callee

_REPEATED = (
    *(ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(*SCOPES, ast.Lambda),  # which are run at any time
)
_UNCHANGEABLE = (bool, int, float, str)


class Uses:
    """The bindings and uses of names in one scope."""

    def __init__(self, scope: ast.AST) -> None:
        arguments = scope.args if isinstance(scope, FUNCTIONS) else None
        self._bound = {} if arguments is None else dict.fromkeys(parameter_names(arguments), 1)
        self._unchangeable = set() if arguments is None else set(_unchangeable_parameters(arguments))
        self._is_module = isinstance(scope, ast.Module)
        self._set: set[str] = set()  # the names of attributes
        self._used: dict[str, list[ast.AST | None]] = {}  # by a path: what uses it, None where it is only asked about
        stack: list[tuple[ast.AST, ast.AST | None, bool]] = [(child, scope, False) for child in children_of(scope)]
        while stack:
            node, use, is_repeated = stack.pop()
            self._note(node, use, is_repeated=is_repeated)
            is_repeated = is_repeated or isinstance(node, _REPEATED)
            stack += ((child, _use_of(child, node, use), is_repeated) for child in children_of(node))

    def _note(self, node: ast.AST, use: ast.AST | None, *, is_repeated: bool) -> None:
        times = 2 if is_repeated else 1
        if isinstance(node, (ast.Name, ast.Attribute)):
            path = path_of(node)
            if isinstance(node.ctx, ast.Load):
                if path is not None and not (isinstance(use, ast.Attribute) and use.value is node):
                    is_called = isinstance(use, ast.Call) and use.func is node
                    self._used.setdefault(path.rpartition(".")[0] if is_called else path, []).append(use)
            elif isinstance(node, ast.Name):
                self._bind(node.id, times)
            else:
                self._set.add(node.attr)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, _ in imports_of(node):
                self._bind(name, times)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                self._bind(name, 2)
        elif isinstance(node, ast.Assign):
            value, target = node.value, node.targets[0]
            is_plain = isinstance(value, ast.Constant) and isinstance(value.value, _UNCHANGEABLE)
            if isinstance(target, ast.Name) and (is_plain or isinstance(getattr(value, "op", None), ast.Not)):
                self._unchangeable.add(target.id)
        else:
            for field in ("name", "rest"):  # of definitions, handlers and patterns
                bound = getattr(node, field, None)
                if isinstance(bound, str):
                    self._bind(bound, times)

    def _bind(self, name: str, times: int = 1) -> None:
        self._bound[name] = self._bound.get(name, 0) + times

    def hides(self, name: str) -> bool:
        """True if the scope binds the name itself."""
        return name in self._bound and not self._is_module

    def given(self, path: str, *, asks_for_value: bool) -> list[tuple[ast.Call, str]] | None:
        """The calls that are given what holds an attribute, with its path; None where it may be changed here.

        A name is bound once, and in no loop.
        """
        root, *attributes = path.split(".")
        if self._bound.get(root) != 1 or not self._set.isdisjoint(attributes):
            return None
        if asks_for_value and path not in self._unchangeable and any(self._used.get(path, ())):
            return None
        found = []
        for length in range(len(attributes)):
            holder = ".".join((root, *attributes[:length]))
            for use in filter(None, self._used.get(holder, ())):
                if not isinstance(use, ast.Call):
                    return None
                found.append((use, holder))
        return found


def _use_of(child: ast.AST, node: ast.AST, use: ast.AST | None) -> ast.AST | None:
    if isinstance(node, (ast.Compare, ast.UnaryOp)) or getattr(node, "test", None) is child:
        return None
    return use if isinstance(node, (ast.BoolOp, ast.keyword)) else node


def parameters_given(callee: Callee, call: ast.Call, path: str) -> list[str]:
    """Those for which a function is given what has this path; none where that cannot be told."""
    if any(isinstance(node, ast.Starred) for node in call.args) or any(each.arg is None for each in call.keywords):
        return []
    values = [Given(NOTHING, (path_of(node) or "",)) for node in arguments_of(call)]
    if isinstance(call.func, ast.Attribute) and callee.owner is not None:
        values.insert(0, Given(NOTHING, (path_of(call.func.value) or "",)))
    return [name for name, given in given_by(callee, call, values).items() if given.place == (path,)]


def _unchangeable_parameters(arguments: ast.arguments) -> list[str]:
    """`flag: bool`, `steps=3`"""
    of_class = [
        each.arg
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        if isinstance(each.annotation, ast.Name) and each.annotation.id in _NAMES
    ]
    defaults = defaults_of(arguments)
    return of_class + [
        name for name, node in defaults if isinstance(node, ast.Constant) and isinstance(node.value, _UNCHANGEABLE)
    ]


_NAMES = frozenset(each.__name__ for each in _UNCHANGEABLE)
