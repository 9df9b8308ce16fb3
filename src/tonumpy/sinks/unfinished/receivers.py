"""From an object on which a method is called to its class, and the methods of one module that may be meant."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.names.bindings import OBJECTS, decorator_names, imports_among, root_name
from tonumpy.sinks.unfinished import stream_words as words
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, statements_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

_ITSELF = frozenset("to cuda cpu eval train half float double bfloat16 requires_grad_ share_memory".split())
_PROPERTIES = frozenset(("property", "cached_property"))
_OF_CLASSES = frozenset(("staticmethod", "classmethod"))
_DEEP = 4  # steps from a name to a class


class Method(NamedTuple):
    """The names of a class and of its method. `is_guessed`: the class is not known, but by the name of the method."""

    cls: str
    name: str
    is_guessed: bool = False


class Receivers:
    """The classes of one module, and what its names say of the objects that they stand for."""

    def __init__(self, source: Source, functions: Mapping[tuple[str, str], tuple[Scope, ...]]) -> None:
        self._source = source
        self._bound: dict[Scope, dict[str, list[ast.expr | None]]] = {}  # by scopes, as far as they were asked for
        self._functions = functions  # the scopes around and of each, by the names of its class, if any, and its own

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        around = (scope for each in self._functions.values() for scope in (each[-2], *statements_of(each[-1].body)))
        found = (*statements_of(self._source.tree.body), *around)
        return {each.name: each for each in found if isinstance(each, ast.ClassDef)}

    @cached_property
    def properties(self) -> frozenset[str]:
        """The names of those of the classes."""
        return frozenset(
            name
            for (cls, name), scopes in self._functions.items()
            if cls and isinstance(scopes[-1], FUNCTIONS) and not _PROPERTIES.isdisjoint(decorator_names(scopes[-1]))
        )

    @cached_property
    def _by_method(self) -> dict[str, list[str]]:
        """The classes that have a method, by its name."""
        found: dict[str, list[str]] = {}
        for cls, name in self._functions:
            if cls:
                found.setdefault(name, []).append(cls)
        return found

    @cached_property
    def _imported(self) -> frozenset[str]:
        return frozenset(name for name, _ in imports_among(statements_of(self._source.tree.body)))

    def method(self, cls: str, name: str) -> Method | None:
        """The one that a class of the module has, or the first of its bases there that has it."""
        waiting, seen = [cls], set[str]()
        while waiting:
            cls = waiting.pop(0)
            if (cls, name) in self._functions:
                return Method(cls, name)
            seen.add(cls)
            bases = [last_name(each) or "" for each in self.classes[cls].bases] if cls in self.classes else []
            waiting += (each for each in bases if each in self.classes and each not in seen)
        return None

    def called(self, function: ast.Attribute, scopes: tuple[Scope, ...], call: ast.Call | None) -> Method | None:
        """The method that is called on an object of a class of the module, or may be: the only one of that name there,
        if the arguments suit it."""
        receiver, name = function.value, function.attr
        if name not in self._by_method:
            return None
        cls = self.class_of(receiver, scopes) or self._class_itself(receiver, name)
        if cls is not None:
            return self.method(cls, name)
        owners = self._by_method.get(name, ())
        if call is None or len(owners) != 1 or not _may_be_own(name) or root_name(receiver) in self._imported:
            return None
        if any(isinstance(each, ast.ClassDef) and each.name == owners[0] for each in scopes):
            return None  # what an object holds has rather another class than itself
        function_called = self._functions[owners[0], name][-1]
        is_suited = isinstance(function_called, FUNCTIONS) and _suits(call, function_called.args)
        return Method(owners[0], name, is_guessed=True) if is_suited else None

    def _class_itself(self, receiver: ast.expr, name: str) -> str | None:
        """The class that a method is called on, if it needs no object."""
        method = (
            self.method(receiver.id, name) if isinstance(receiver, ast.Name) and receiver.id in self.classes else None
        )
        function = None if method is None else self._functions[method[:2]][-1]
        is_of_class = isinstance(function, FUNCTIONS) and not _OF_CLASSES.isdisjoint(decorator_names(function))
        return method.cls if method is not None and is_of_class else None

    def class_of(self, node: ast.expr, scopes: tuple[Scope, ...], deep: int = _DEEP) -> str | None:
        """The class of the module that an expression is an object of, if that is plain."""
        if deep == 0:
            return None
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in _ITSELF:
                return self.class_of(node.func.value, scopes, deep - 1)
            return node.func.id if isinstance(node.func, ast.Name) and node.func.id in self.classes else None
        name = path_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if name is None:
            return None
        owner, _, attribute = name.rpartition(".")
        if owner in OBJECTS:
            return self._common(self._stored(attribute, scopes), deep)
        if name in OBJECTS:
            return _class_around(scopes)
        return None if owner else self._class_of_name(name, scopes, deep)

    def _class_of_name(self, name: str, scopes: tuple[Scope, ...], deep: int) -> str | None:
        """By an annotation, or by all that is assigned to it."""
        for at in range(len(scopes) - 1, -1, -1):
            scope = scopes[at]
            if isinstance(scope, FUNCTIONS):
                for each in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs):
                    if each.arg == name:
                        return self._annotated(each.annotation)
            if isinstance(scope, ast.ClassDef):
                continue
            found = self.bound_in(scope).get(name)
            if found:
                return self._common([(each, scopes[: at + 1]) for each in found], deep)
        return None

    def _common(self, values: list[tuple[ast.expr | None, tuple[Scope, ...]]], deep: int) -> str | None:
        classes = {None if value is None else self.class_of(value, scopes, deep - 1) for value, scopes in values}
        return classes.pop() if len(classes) == 1 else None

    def _stored(self, attribute: str, scopes: tuple[Scope, ...]) -> list[tuple[ast.expr | None, tuple[Scope, ...]]]:
        """What the methods of the class around give an attribute, None aside."""
        cls = _class_around(scopes)
        found: list[tuple[ast.expr | None, tuple[Scope, ...]]] = []
        for (owner, _), method in self._functions.items():
            function = method[-1]
            if owner == cls and isinstance(function, FUNCTIONS) and attribute in self._source.text_of(function):
                values = self.bound_in(function).get(f"self.{attribute}", ())
                found += ((each, method) for each in values if not _is_none(each))
        return found

    def bound_in(self, scope: Scope) -> dict[str, list[ast.expr | None]]:
        """What the names of a scope are given; None where something else than an assignment binds them."""
        found = self._bound.get(scope)
        if found is None:
            found = self._bound[scope] = {}
            for name, value in _bindings_in(scope.body):
                found.setdefault(name, []).append(value)
        return found

    def _annotated(self, annotation: ast.expr | None) -> str | None:
        if annotation is None:
            return None
        named = annotation.value if isinstance(annotation, ast.Constant) else last_name(annotation)
        return named if isinstance(named, str) and named in self.classes else None


def _bindings_in(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr | None]]:
    for statement in statements_of(body):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from _parts_given(target, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            yield from _parts_given(statement.target, statement.value)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            yield from _parts_given(statement.target, None)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                if item.optional_vars is not None:
                    yield from _parts_given(item.optional_vars, None)


def _parts_given(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        is_matched = len(parts) == len(target.elts)
        for at, each in enumerate(target.elts):
            yield from _parts_given(each, parts[at] if is_matched else None)
    elif (name := path_of(target)) is not None:
        yield name, value


def _class_around(scopes: tuple[Scope, ...]) -> str | None:
    return next((each.name for each in reversed(scopes) if isinstance(each, ast.ClassDef)), None)


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _may_be_own(name: str) -> bool:
    """Whether no tensor, container or future has a method of this name."""
    if name.startswith("__") or torch_api.tensor_method(name) is not None:
        return False
    return not any(name in each for each in (words.VIEWS, words.FILLING, words.READING, words.QUIET, words.BLOCKING))


def _suits(call: ast.Call, parameters: ast.arguments) -> bool:
    """Whether a call gives a method as many arguments as it takes, and none that it doesn't know."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return True
    names = [each.arg for each in (*parameters.posonlyargs, *parameters.args)][1:]
    told = {each.arg for each in call.keywords}
    known = {*names, *(each.arg for each in parameters.kwonlyargs)}
    if len(call.args) > len(names) and parameters.vararg is None:
        return False
    needed = names[len(call.args) : len(names) - len(parameters.defaults)]
    return told.issuperset(needed) and (parameters.kwarg is not None or known >= told)
