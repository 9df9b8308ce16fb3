"""Which functions of a module `torch.compile` compiles: `.numpy()` and NumPy's functions of a tensor are torch's there.

They raise neither for grad nor for a device, gradients pass, and a repair would cut them and leave the GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tonumpy.engine.names.bindings import full_names, in_full
from tonumpy.text.names import path_of
from tonumpy.text.source import Source
from tonumpy.text.syntax import FUNCTIONS, walk

_OPTIONS = frozenset("model fullgraph dynamic backend mode options".split())
_PARTIAL = ("partial", "functools.partial")
_KEEPING = frozenset("eval train to cuda".split())  # methods that give the module itself


class Compiled(NamedTuple):
    """That a function is compiled: the row that asks for it, and the function that calls it, if one does."""

    row: int
    through: str = ""

    @property
    def words(self) -> str:
        called = f" with `{self.through}`, which calls it" if self.through else ""
        return f"torch.compile compiles this function{called} (line {self.row}): neither grad nor a device raises there"


def compiled_around(source: Source, scopes: Sequence[ast.AST], node: ast.AST) -> Compiled | None:
    """Return what is known of the lambda, or the innermost function, that is compiled, of those around a node."""
    if "torch" not in source.text or "compile" not in source.text:
        return None
    if source not in _KNOWN:  # one source may hold any number of conversions
        _KNOWN[source] = _Search(source).found()
    found = _KNOWN[source]
    return next((found[each] for each in (node, *reversed(scopes)) if each in found), None)


# What is known of a source goes with it: of functions, and of all that a lambda holds.
_KNOWN: WeakKeyDictionary[Source, Mapping[ast.AST, Compiled]] = WeakKeyDictionary()


class _Search:
    """The search of one source: which functions are compiled, and which of the module these call.

    A method is found by the class around a call of `self.name`, and by the class that an object was made of.
    """

    def __init__(self, source: Source) -> None:
        self._nodes = list(walk(source.tree))
        self._names = full_names(source.tree.body)
        classes = [each for each in self._nodes if isinstance(each, ast.ClassDef)]
        self._methods = {
            each.name: {inner.name: inner for inner in each.body if isinstance(inner, FUNCTIONS)} for each in classes
        }
        self._class_around = {id(inner): each.name for each in classes for inner in walk(each)}
        self._functions: dict[str, ast.AST] = {
            each.name: each
            for each in self._nodes
            if isinstance(each, FUNCTIONS) and id(each) not in self._class_around
        }
        self._objects: dict[str, str] = {}  # the classes of objects, by the names these are bound to
        for each in self._nodes:
            if isinstance(each, ast.Assign) and len(each.targets) == 1 and (path := path_of(each.targets[0])):
                if isinstance(each.value, ast.Lambda):
                    self._functions[path] = each.value
                elif isinstance(made := _before_moves(each.value), ast.Call) and path_of(made.func) in self._methods:
                    self._objects[path] = path_of(made.func) or ""

    def found(self) -> dict[ast.AST, Compiled]:
        found: dict[ast.AST, Compiled] = {}
        waiting = list(self._asked_for())
        while waiting:
            function, compiled = waiting.pop()
            if function in found or any(map(_disables, getattr(function, "decorator_list", ()))):
                continue
            inner = list(walk(function))
            for each in inner if isinstance(function, ast.Lambda) else (function,):
                found.setdefault(each, compiled)
            through = Compiled(compiled.row, compiled.through or getattr(function, "name", "lambda"))
            called = (self._meant(each.func) for each in inner if isinstance(each, ast.Call))
            waiting += [(each, through) for each in called if each is not None]
        return found

    def _asked_for(self) -> Iterator[tuple[ast.AST, Compiled]]:
        for node in self._nodes:
            if isinstance(node, FUNCTIONS):
                rows = [each.lineno for each in node.decorator_list if self._compiles(each)]
                if rows:
                    yield node, Compiled(rows[0])
            elif isinstance(node, ast.Call):
                function = self._given_to_compile(node)
                if function is not None:
                    yield function, Compiled(node.lineno)

    def _given_to_compile(self, call: ast.Call) -> ast.AST | None:
        """Return `f` in `torch.compile(f)`, `torch.compile(mode=...)(f)` and `f.compile()`."""
        if not _has_known_options(call):
            return None  # `disable=True`; `model.compile(optimizer=...)` of another library
        is_of_torch = self._is_compile(call.func) or (isinstance(call.func, ast.Call) and self._compiles(call.func))
        if is_of_torch and call.args:
            return self._meant(call.args[0])
        match call:
            case ast.Call(ast.Attribute(value, "compile"), []):
                return self._meant(value)
        return None

    def _meant(self, node: ast.expr) -> ast.AST | None:
        """Return the function that a name, a method of an object, or an object that is called stands for."""
        node = _before_moves(node)
        if isinstance(node, ast.Lambda):
            return node
        path = path_of(node.func if isinstance(node, ast.Call) else node) or ""
        if isinstance(node, ast.Call):
            return self._methods.get(path, {}).get("forward")
        if path in self._functions:
            return self._functions[path]
        if path in self._objects:
            return self._methods.get(self._objects[path], {}).get("forward")
        owner, _, name = path.rpartition(".")
        cls = self._class_around.get(id(node), "") if owner == "self" else self._objects.get(owner, owner)
        return self._methods.get(cls, {}).get(name)

    def _compiles(self, node: ast.expr) -> bool:
        """True for `torch.compile`, `torch.compile(mode="default")` and `partial(torch.compile, fullgraph=True)`."""
        if not isinstance(node, ast.Call):
            return self._is_compile(node)
        is_partial = path_of(node.func) in _PARTIAL and len(node.args) == 1
        asked = node.args[0] if is_partial else node.func
        return self._is_compile(asked) and _has_known_options(node) and (is_partial or not node.args)

    def _is_compile(self, node: ast.expr) -> bool:
        return in_full(path_of(node) or "", self._names) == "torch.compile"


def _before_moves(node: ast.expr) -> ast.expr:
    """Return `Net()` of `Net().cuda().eval()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
        node = node.func.value
    return node


def _has_known_options(call: ast.Call) -> bool:
    return {each.arg for each in call.keywords} <= _OPTIONS


def _disables(decorator: ast.expr) -> bool:
    """True for `@torch.compiler.disable` and its like."""
    path = path_of(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
    return path.rpartition(".")[2] in ("disable", "graph_break", "skip")
