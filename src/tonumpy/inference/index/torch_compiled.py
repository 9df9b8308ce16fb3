"""Which functions of a module `torch.compile` compiles: `.numpy()` and NumPy's functions of a tensor are torch's there.

They raise neither for grad nor for a device, gradients pass, and a repair would cut them and leave the GPU.
"""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

from tonumpy.inference.index.bindings import imports_among
from tonumpy.inference.index.torch_words import changes_module_in_place
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tonumpy.inference.index.bindings import FunctionNode
    from tonumpy.text.source import Source

_OPTIONS = frozenset("model fullgraph dynamic backend mode options".split())
_PARTIAL = ("partial", "functools.partial")


class Compiled(NamedTuple):
    """That a function is compiled: the row that asks for it, and the function that calls it, if one does."""

    row: int
    through: str = ""

    @property
    def words(self) -> str:
        called = f" with `{self.through}`, which calls it" if self.through else ""
        return f"torch.compile compiles this function{called} (line {self.row}): neither grad nor a device raises there"


def compiled_around(source: Source, scopes: Sequence[ast.AST]) -> Compiled | None:
    """What is known of the innermost function that is compiled, of those around a place."""
    if "torch" not in source.text or "compile" not in source.text:
        return None
    if source not in _KNOWN:  # one source may hold any number of conversions
        _KNOWN[source] = _Search(source).found()
    found = _KNOWN[source]
    return next((found[each] for each in reversed(scopes) if each in found), None)


# What is known of a source goes with it.
_KNOWN: WeakKeyDictionary[Source, Mapping[ast.AST, Compiled]] = WeakKeyDictionary()


def _before_moves(node: ast.expr) -> ast.expr:
    """`Net()` for `Net().cuda().eval()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if not changes_module_in_place(name) and name not in ("eval", "train"):
            break
        node = node.func.value
    return node


class _Search:
    """Of one source."""

    def __init__(self, source: Source) -> None:
        body = source.tree.body
        self._nodes = list(walk(source.tree))
        self._names = {name: each.full_name for name, each in imports_among(statements_of(body)) if not each.level}
        within = {each.name: each for each in self._nodes if isinstance(each, FUNCTIONS)}
        self._functions = within | {each.name: each for each in statements_of(body) if isinstance(each, FUNCTIONS)}
        classes = [each for each in statements_of(body) if isinstance(each, ast.ClassDef)]
        self._methods = {
            each.name: {inner.name: inner for inner in each.body if isinstance(inner, FUNCTIONS)} for each in classes
        }
        self._owners = {id(inner): name for name, methods in self._methods.items() for inner in methods.values()}
        self._objects = {
            path: cls
            for each in self._nodes
            if isinstance(each, ast.Assign) and isinstance(made := _before_moves(each.value), ast.Call)
            if (cls := path_of(made.func)) in self._methods and cls is not None
            for target in each.targets
            if (path := path_of(target)) is not None
        }

        calls = ((each, cls.name) for cls in classes for each in walk(cls) if isinstance(each, ast.Call))
        self._class_around = {id(call): name for call, name in calls}

    def found(self) -> dict[ast.AST, Compiled]:
        found: dict[ast.AST, Compiled] = {}
        waiting = list(self._asked_for())
        disabled = set(self._disabled()) if waiting else set()
        while waiting:
            node, compiled = waiting.pop()
            if node in found or node in disabled or any(self._disables(each) for each in node.decorator_list):
                continue
            found[node] = compiled
            through = compiled.through or node.name
            waiting += [(each, Compiled(compiled.row, through)) for each in self._called_in(node)]
        return found

    def _asked_for(self) -> Iterator[tuple[FunctionNode, Compiled]]:
        for node in self._nodes:
            if isinstance(node, FUNCTIONS):
                for each in node.decorator_list:
                    options = {key.arg for key in each.keywords} if isinstance(each, ast.Call) else set()
                    asked = each.func if isinstance(each, ast.Call) else each
                    if isinstance(each, ast.Call) and path_of(asked) in _PARTIAL and each.args:
                        asked = each.args[0]
                    if self._is_compile(asked) and options.issubset(_OPTIONS):
                        yield node, Compiled(each.lineno)
            elif isinstance(node, ast.Call):
                given = self._given_to_compile(node)
                function = None if given is None else self._function(given, node)
                if function is not None:
                    yield function, Compiled(node.lineno)

    def _disabled(self) -> Iterator[FunctionNode]:
        """`self.log = torch.compiler.disable(self.log)`"""
        for node in self._nodes:
            if isinstance(node, ast.Call) and node.args and self._disables(node):
                function = self._function(node.args[0], node)
                if function is not None:
                    yield function

    def _given_to_compile(self, call: ast.Call) -> ast.expr | None:
        """`f` in `torch.compile(f)`, `torch.compile(mode=...)(f)` and `f.compile()`."""
        options = {each.arg for each in call.keywords}
        if not options.issubset(_OPTIONS):
            return None  # `disable=True`; `model.compile(optimizer=...)` of another library
        if self._is_compile(call.func):
            named = [each.value for each in call.keywords if each.arg == "model"]
            return call.args[0] if call.args else named[0] if named else None
        function = call.func
        if isinstance(function, ast.Call) and self._is_compile(function.func) and not function.args and call.args:
            return call.args[0]
        is_method = isinstance(function, ast.Attribute) and function.attr == "compile" and not call.args
        return function.value if is_method else None  # type: ignore[attr-defined]

    def _function(self, node: ast.expr, call: ast.Call) -> FunctionNode | None:
        """The function that a name, a method of an object, or an object that is called stands for, given in a call."""
        node = _before_moves(node)
        if isinstance(node, ast.Call):
            cls = path_of(node.func) or ""
            return self._methods.get(cls, {}).get("forward")
        path = path_of(node) or ""
        if path in self._functions:
            return self._functions[path]
        if path in self._objects:
            return self._methods[self._objects[path]].get("forward")
        owner, _, name = path.rpartition(".")
        cls = self._class_around.get(id(call), "") if owner == "self" else self._objects.get(owner, owner)
        return self._methods.get(cls, {}).get(name)

    def _called_in(self, function: FunctionNode) -> Iterator[FunctionNode]:
        own = self._methods.get(self._owners.get(id(function), ""), {})
        for node in walk(function):
            if not isinstance(node, ast.Call):
                continue
            path = path_of(node.func) or ""
            root, _, name = path.partition(".")
            called = own.get(name) if root == "self" else None if name else self._functions.get(root)
            if called is None and path in self._objects:
                called = self._methods[self._objects[path]].get("forward")
            if called is not None:
                yield called

    def _is_compile(self, node: ast.expr) -> bool:
        root, dot, rest = (path_of(node) or "").partition(".")
        return self._names.get(root, "") + dot + rest == "torch.compile"

    def _disables(self, node: ast.expr) -> bool:
        path = path_of(node.func if isinstance(node, ast.Call) else node) or ""
        return path.rpartition(".")[2] in ("disable", "graph_break", "skip")
