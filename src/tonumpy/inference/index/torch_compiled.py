"""Which functions of a module `torch.compile` compiles: `.numpy()` and NumPy's functions of a tensor are torch's there.

They raise neither for grad nor for a device, gradients pass, and a repair would cut them and leave the GPU.
"""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

from tonumpy.inference.index.bindings import imports_among, path_of
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tonumpy.inference.index.bindings import FunctionNode
    from tonumpy.text.source import Source

_OPTIONS = frozenset("model fullgraph dynamic backend mode options".split())


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


class _Search:
    """Of one source."""

    def __init__(self, source: Source) -> None:
        body = source.tree.body
        self._nodes = list(walk(source.tree))
        self._names = {name: each.full_name for name, each in imports_among(statements_of(body)) if not each.level}
        self._functions = {each.name: each for each in statements_of(body) if isinstance(each, FUNCTIONS)}
        classes = [each for each in statements_of(body) if isinstance(each, ast.ClassDef)]
        self._methods = {
            each.name: {inner.name: inner for inner in each.body if isinstance(inner, FUNCTIONS)} for each in classes
        }
        self._owners = {id(inner): name for name, methods in self._methods.items() for inner in methods.values()}
        self._objects = {
            path: cls
            for each in self._nodes
            if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)
            if (cls := path_of(each.value.func)) in self._methods and cls is not None
            for target in each.targets
            if (path := path_of(target)) is not None
        }

    def found(self) -> dict[ast.AST, Compiled]:
        found: dict[ast.AST, Compiled] = {}
        waiting = list(self._asked_for())
        while waiting:
            node, compiled = waiting.pop()
            if node in found or any(self._disables(each) for each in node.decorator_list):
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
                    is_asked_for = self._is_compile(each.func if isinstance(each, ast.Call) else each)
                    if is_asked_for and options.issubset(_OPTIONS):
                        yield node, Compiled(each.lineno)
            elif isinstance(node, ast.Call):
                given = self._given_to_compile(node)
                function = None if given is None else self._function(given)
                if function is not None:
                    yield function, Compiled(node.lineno)

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

    def _function(self, node: ast.expr) -> FunctionNode | None:
        """The function that a name, a method of an object, or an object that is called stands for."""
        if isinstance(node, ast.Call):
            cls = path_of(node.func) or ""
            return self._methods.get(cls, {}).get("forward")
        path = path_of(node) or ""
        if path in self._functions:
            return self._functions[path]
        if path in self._objects:
            return self._methods[self._objects[path]].get("forward")
        owner, _, name = path.rpartition(".")
        return self._methods.get(self._objects.get(owner, owner), {}).get(name)

    def _called_in(self, function: FunctionNode) -> Iterator[FunctionNode]:
        own = self._methods.get(self._owners.get(id(function), ""), {})
        for node in walk(function):
            if not isinstance(node, ast.Call):
                continue
            root, _, name = (path_of(node.func) or "").partition(".")
            called = own.get(name) if root == "self" else None if name else self._functions.get(root)
            if called is not None:
                yield called

    def _is_compile(self, node: ast.expr) -> bool:
        root, dot, rest = (path_of(node) or "").partition(".")
        return self._names.get(root, "") + dot + rest == "torch.compile"

    def _disables(self, node: ast.expr) -> bool:
        path = path_of(node.func if isinstance(node, ast.Call) else node) or ""
        return path.rpartition(".")[2] in ("disable", "graph_break", "skip")
