"""The functions of a module that torch.compile compiles, or that run in a transform of torch.func.
In compiled code `.numpy()` and NumPy's functions on tensors are traced to torch: they raise neither for grad nor for a
device, gradients pass, and a repair would cut gradients and leave the GPU. Within a transform tensors are wrappers
without memory, so `.numpy()` raises RuntimeError after any chain, with `force=True` too: `torch.vmap` wraps the mapped
arguments and values made of them; the others wrap all tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from tonumpy.engine.names.bindings import full_names, in_full
from tonumpy.text.names import last_name, path_of
from tonumpy.text.source import Source
from tonumpy.text.syntax import FUNCTIONS, walk

_COMPILE = "torch.compile"
_OF_TORCH_FUNC = ("grad", "grad_and_value", "jacrev", "jacfwd", "vjp", "jvp", "hessian", "vmap")
_TRANSFORMS = {f"{home}.{name}" for home in ("torch.func", "functorch") for name in _OF_TORCH_FUNC} | {"torch.vmap"}
_WORDS = ("compile", "vmap", "torch.func", "functorch", "import func")
_OPTIONS = frozenset("model fullgraph dynamic backend mode options".split())
_KEEPING = frozenset("eval train to cuda".split())  # methods that return the module itself
_NO_TENSORS = frozenset("shape dtype device ndim size dim numel".split())  # attributes of tensors


class Compiled(NamedTuple):
    """A compiled function: the row of `torch.compile`, and the compiled function that calls it, if it is compiled by
    that."""

    row: int
    through: str = ""

    @property
    def words(self) -> str:
        called = f" with `{self.through}`, which calls it" if self.through else ""
        return f"torch.compile compiles this function{called} (line {self.row}): neither grad nor a device raises there"


class Transformed(NamedTuple):
    """The transform that a function is passed to, its row, and the names in the function that hold wrapped tensors;
    None if all tensors are wrapped."""

    name: str
    row: int
    wrapped: frozenset[str] | None = None


class _Found(NamedTuple):
    """The compiled and transformed functions of a source; a lambda is entered with all nodes in it."""

    compiled: dict[ast.AST, Compiled]
    transformed: dict[ast.AST, Transformed]


_KNOWN: WeakKeyDictionary[Source, _Found] = WeakKeyDictionary()  # freed with the source


def compiled_around(source: Source, scopes: Sequence[ast.AST], node: ast.AST) -> Compiled | None:
    """The compilation of the innermost compiled lambda or function around a node; None if there is none."""
    found = _known_of(source).compiled
    return next((found[each] for each in (node, *reversed(scopes)) if each in found), None) if found else None


def transformed_around(source: Source, scopes: Sequence[ast.AST], call: ast.Call) -> Transformed | None:
    """The transform in which a call of `.numpy()` runs, if it wraps the converted tensor."""
    found = _known_of(source).transformed
    given = found.get(call) or found.get(scopes[-1]) if found else None
    is_wrapped = given is not None and (given.wrapped is None or _mentions(call.func, given.wrapped))
    return given if is_wrapped else None


def _known_of(source: Source) -> _Found:
    if "torch" not in source.text or not any(word in source.text for word in _WORDS):
        return _Found({}, {})
    if source not in _KNOWN:  # one source may hold any number of conversions
        search = _Search(source.tree)
        _KNOWN[source] = _Found(search.compiled(), dict(search.transformed()))
    return _KNOWN[source]


class _Search:
    """The search of one tree. Functions are matched by name alone, methods of all classes included."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(walk(tree))
        self._names = full_names(tree.body)
        self._functions: dict[str, list[ast.AST]] = {}
        self._objects: dict[str, str] = {}  # the classes of objects, by the names these are bound to
        for each in self._nodes:
            if isinstance(each, FUNCTIONS):
                self._functions.setdefault(each.name, []).append(each)
            elif isinstance(each, ast.ClassDef):
                methods = (inner for inner in each.body if isinstance(inner, FUNCTIONS) and inner.name == "forward")
                self._functions.setdefault(each.name, []).extend(methods)
            elif isinstance(each, ast.Assign) and (name := last_name(each.targets[0])):
                made = _before_moves(each.value)
                if isinstance(made, ast.Lambda):
                    self._functions.setdefault(name, []).append(made)
                elif isinstance(made, ast.Call):
                    self._objects[name] = last_name(made.func) or ""

    def compiled(self) -> dict[ast.AST, Compiled]:
        """The functions passed to torch.compile, and the functions of the module that they call."""
        found: dict[ast.AST, Compiled] = {}
        waiting = [(function, Compiled(row)) for function, name, row, _ in self._given() if name == _COMPILE]
        while waiting:
            function, compiled = waiting.pop()
            if function in found or any(map(_disables, getattr(function, "decorator_list", ()))):
                continue
            found.update((each, compiled) for each in _with_parts(function))
            through = Compiled(compiled.row, compiled.through or getattr(function, "name", "lambda"))
            called = (last_name(each.func) or "" for each in walk(function) if isinstance(each, ast.Call))
            waiting += [(each, through) for name in called for each in self._functions.get(name, ())]
        return found

    def transformed(self) -> Iterator[tuple[ast.AST, Transformed]]:
        """The functions that are passed to a transform, if their name is unique in the module."""
        for function, name, row, alike in self._given():
            if name != _COMPILE and alike == 1:
                given = Transformed(name, row, _wrapped_in(function) if name.endswith("vmap") else None)
                yield from (
                    (each, given) for each in (walk(function) if isinstance(function, ast.Lambda) else (function,))
                )

    def _given(self) -> Iterator[tuple[ast.AST, str, int, int]]:
        """Each function that is passed to torch.compile or a transform, with the full name of that, the row, and the
        number of functions of the same name."""
        for node in self._nodes:
            if isinstance(node, FUNCTIONS):
                for each in node.decorator_list:
                    name = self._asked(_without_partial(each))
                    if name and _takes_all(each, name):
                        yield node, name, each.lineno, 1
            elif isinstance(node, ast.Call):
                name, given = self._asked(node.func), node.args[:1]
                if not name and isinstance(node.func, ast.Attribute) and node.func.attr == "compile" and not given:
                    name, given = _COMPILE, [node.func.value]  # `net.compile()`
                if name and given and _takes_all(node, name):
                    functions = self._meant(given[0])
                    yield from ((each, name, node.lineno, len(functions)) for each in functions)

    def _asked(self, node: ast.expr) -> str:
        """The full name of torch.compile or a transform, also for `torch.compile(mode="default")`; else ""."""
        if isinstance(node, ast.Call):
            name = "" if node.args else self._asked(node.func)
            return name if _takes_all(node, name) else ""
        name = in_full(path_of(node) or "", self._names)
        return name if name == _COMPILE or name in _TRANSFORMS else ""

    def _meant(self, node: ast.expr) -> list[ast.AST]:
        """The functions that an expression may refer to: by a name, as a method, or as a callable object."""
        node = _before_moves(_without_partial(node))
        if isinstance(node, ast.Lambda):
            return [node]
        name = last_name(node.func if isinstance(node, ast.Call) else node) or ""
        return self._functions.get(name) or self._functions.get(self._objects.get(name, ""), [])


def _with_parts(function: ast.AST) -> list[ast.AST]:
    """The function itself; for a lambda, which is not among the scopes, all nodes in it."""
    return list(walk(function)) if isinstance(function, ast.Lambda) else [function]


def _before_moves(node: ast.expr) -> ast.expr:
    """`Net()` for `Net().cuda().eval()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
        node = node.func.value
    return node


def _without_partial(node: ast.expr) -> ast.expr:
    """The function `f` for `partial(f, ..)`."""
    is_partial = isinstance(node, ast.Call) and last_name(node.func) == "partial" and bool(node.args)
    return node.args[0] if is_partial and isinstance(node, ast.Call) else node


def _takes_all(call: ast.expr, name: str) -> bool:
    """True if torch.compile is called with known options only (not `disable=True`, nor those of another library's
    `compile`), and if vmap maps over all arguments, unlike with `in_dims=(0, None)`."""
    if not isinstance(call, ast.Call):
        return True
    if name == _COMPILE:
        return {each.arg for each in call.keywords} <= _OPTIONS
    dims = [*call.args[1:2], *(each.value for each in call.keywords if each.arg in ("in_dims", None))]
    return not name.endswith("vmap") or all(isinstance(each, ast.Constant) and each.value is not None for each in dims)


def _disables(decorator: ast.expr) -> bool:
    """True for `@torch.compiler.disable` and its like."""
    name = last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return name in ("disable", "graph_break", "skip")


def _wrapped_in(function: ast.AST) -> frozenset[str]:
    """The parameters that vmap maps over, and the variables that are computed from them."""
    assert isinstance(function, (*FUNCTIONS, ast.Lambda))
    bound = {each.id for each in walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    parameters = (*function.args.posonlyargs, *function.args.args)
    wrapped = frozenset(each.arg for each in parameters if each.arg not in (*bound, "self"))
    for each in () if isinstance(function, ast.Lambda) else function.body:
        if isinstance(each, ast.Assign) and _mentions(each.value, wrapped):
            wrapped |= {target.id for target in each.targets if isinstance(target, ast.Name)}
    return wrapped


def _mentions(node: ast.AST, names: frozenset[str]) -> bool:
    """True if an expression uses one of these names for more than its shape, dtype and the like."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Attribute) and node.attr in _NO_TENSORS:
        return False
    if isinstance(node, ast.Call) and path_of(node.func) == "len":
        return False
    return any(_mentions(each, names) for each in ast.iter_child_nodes(node))
