"""Which functions of a module `torch.compile` compiles: `.numpy()` and NumPy's functions of a tensor are torch's there.

They raise neither for grad nor for a device, gradients pass, and a repair would cut them and leave the GPU.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from tonumpy.engine.names.bindings import full_names, in_full
from tonumpy.engine.names.torch_words import changes_module_in_place
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tonumpy.engine.names.bindings import FunctionNode
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


def compiled_around(source: Source, scopes: Sequence[ast.AST], node: ast.AST) -> Compiled | None:
    """What is known of the lambda, or the innermost function, that is compiled, of those around a node."""
    if "torch" not in source.text or "compile" not in source.text:
        return None
    if source not in _KNOWN:  # one source may hold any number of conversions
        _KNOWN[source] = _Search(source).found()
    found = _KNOWN[source]
    return next((found[each] for each in (node, *reversed(scopes)) if each in found), None)


# What is known of a source goes with it: of functions, and of all that a lambda holds.
_KNOWN: WeakKeyDictionary[Source, Mapping[ast.AST, Compiled]] = WeakKeyDictionary()


def _before_moves(node: ast.expr) -> ast.expr:
    """`Net()` for `Net().cuda().eval()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if not changes_module_in_place(name) and name not in ("eval", "train"):
            break
        node = node.func.value
    return node


class _Function(NamedTuple):
    """A function, and the class of the object whose method it is."""

    node: FunctionNode | ast.Lambda
    cls: str = ""


class _Search:
    """Of one source."""

    def __init__(self, source: Source) -> None:
        body = source.tree.body
        self._nodes = list(walk(source.tree))
        self._names = full_names(body)
        within = {each.name: each for each in self._nodes if isinstance(each, FUNCTIONS)}
        self._functions = within | {each.name: each for each in statements_of(body) if isinstance(each, FUNCTIONS)}
        classes = [each for each in statements_of(body) if isinstance(each, ast.ClassDef)]
        self._methods = {
            each.name: {inner.name: inner for inner in each.body if isinstance(inner, FUNCTIONS)} for each in classes
        }
        self._owners = {id(inner): name for name, methods in self._methods.items() for inner in methods.values()}
        bound = [
            (path, each.value)
            for each in self._nodes
            if isinstance(each, ast.Assign)
            for target in each.targets
            if (path := path_of(target)) is not None
        ]
        self._compilers = set[str]()  # names of what compiles, beside torch.compile
        self._objects = {
            path: cls
            for path, value in bound
            if isinstance(made := _before_moves(value), ast.Call)
            if (cls := path_of(made.func)) in self._methods and cls is not None
        }
        self._lambdas = {path: value for path, value in bound if isinstance(value, ast.Lambda)}
        self._bases = {each.name: [path_of(base) or "" for base in each.bases] for each in classes}
        self._compilers = {path for path, value in bound if self._makes_compiled(value)}
        calls = ((each, cls.name) for cls in classes for each in walk(cls) if isinstance(each, ast.Call))
        self._class_around = {id(call): name for call, name in calls}

    def found(self) -> dict[ast.AST, Compiled]:
        found: dict[ast.AST, Compiled] = {}
        waiting = list(self._asked_for())
        disabled = {each.node for each in self._disabled()} if waiting else set()
        seen = set[_Function]()
        while waiting:
            function, compiled = waiting.pop()
            node = function.node
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            if function in seen or node in disabled or any(self._disables(each) for each in decorators):
                continue
            seen.add(function)
            for each in walk(node) if isinstance(node, ast.Lambda) else (node,):
                found.setdefault(each, compiled)
            through = compiled.through or getattr(node, "name", "lambda")
            waiting += [(each, Compiled(compiled.row, through)) for each in self._called_in(function)]
        return found

    def _asked_for(self) -> Iterator[tuple[_Function, Compiled]]:
        for node in self._nodes:
            if isinstance(node, FUNCTIONS):
                for each in node.decorator_list:
                    options = {key.arg for key in each.keywords} if isinstance(each, ast.Call) else set()
                    asked = each.func if isinstance(each, ast.Call) else each
                    if isinstance(each, ast.Call) and path_of(asked) in _PARTIAL and each.args:
                        asked = each.args[0]
                    if self._is_compile(asked) and options.issubset(_OPTIONS):
                        yield _Function(node, self._owners.get(id(node), "")), Compiled(each.lineno)
            elif isinstance(node, ast.Call):
                given = self._given_to_compile(node)
                function = None if given is None else self._function(given, node)
                if function is not None:
                    yield function, Compiled(node.lineno)

    def _disabled(self) -> Iterator[_Function]:
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

    def _function(self, node: ast.expr, call: ast.Call) -> _Function | None:
        """The function that a name, a method of an object, or an object that is called stands for, given in a call."""
        node = _before_moves(node)
        if isinstance(node, ast.Lambda):
            return _Function(node)
        if isinstance(node, ast.Call):
            return self._method(path_of(node.func) or "", "forward")
        path = path_of(node) or ""
        known = self._functions.get(path) or self._lambdas.get(path)
        if known is not None:
            return _Function(known)
        if path in self._objects:
            return self._method(self._objects[path], "forward")
        owner, _, name = path.rpartition(".")
        cls = self._class_around.get(id(call), "") if owner == "self" else self._objects.get(owner, owner)
        return self._method(cls, name)

    def _method(self, cls: str, name: str) -> _Function | None:
        """Of a class of the module, its own or that of a base there."""
        asked = [cls]
        for each in asked:
            if name in self._methods.get(each, {}):
                return _Function(self._methods[each][name], cls)
            asked += [base for base in self._bases.get(each, ()) if base not in asked]
        return None

    def _called_in(self, function: _Function) -> Iterator[_Function]:
        for node in walk(function.node):
            if not isinstance(node, ast.Call):
                continue
            path = path_of(node.func) or ""
            root, _, name = path.partition(".")
            called = self._method(function.cls, name) if root == "self" else None
            if not name and root in self._functions:
                called = _Function(self._functions[root])
            if called is None and path in self._objects:
                called = self._method(self._objects[path], "forward")
            if called is not None:
                yield called

    def _is_compile(self, node: ast.expr) -> bool:
        path = path_of(node) or ""
        return in_full(path, self._names) == "torch.compile" or path in self._compilers

    def _makes_compiled(self, node: ast.expr) -> bool:
        """`compiled = torch.compile(mode="default")`, `partial(torch.compile, ...)`, and another name for it."""
        if not isinstance(node, ast.Call):
            return self._is_compile(node)
        options = {each.arg for each in node.keywords}
        if not options.issubset(_OPTIONS - {"model"}):
            return False
        if path_of(node.func) in _PARTIAL:
            return len(node.args) == 1 and self._is_compile(node.args[0])
        return not node.args and self._is_compile(node.func)

    def _disables(self, node: ast.expr) -> bool:
        path = path_of(node.func if isinstance(node, ast.Call) else node) or ""
        return path.rpartition(".")[2] in ("disable", "graph_break", "skip")
