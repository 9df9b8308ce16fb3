"""From an expression's spelling to whether its value is surely no tensor, and holds none.

"Plain" are arrays, numbers and strings, and containers of such: what other libraries than torch make, and literals.
"""

from __future__ import annotations

import ast
from types import MappingProxyType

from tonumpy.inference.index.bindings import (
    arguments_of,
    bound_names,
    names_in,
    parameters_of,
    root_name,
)
from tonumpy.inference.index.changes import mutated_names, touched_in
from tonumpy.inference.index.syntax_lowering import stores_of
from tonumpy.inference.index.torch_words import FILLING
from tonumpy.inference.knowledge.methods import GIVE_NO_TENSOR_BY_SPELLING
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tonumpy.inference.index.bindings import FunctionNode
    from tonumpy.text.candidates import Scope

_METHODS_OF_TENSORS = frozenset("cuda xpu npu to detach requires_grad_".split())
_MODULES = ("net", "model", "network")
_TORCH = frozenset(("torch", "F", "nn"))
_NO_TENSORS = frozenset("manual_seed Generator device no_grad load is_tensor".split())
_OF_A_VALUE = (ast.Attribute, ast.Subscript, ast.Starred)
_ATTRIBUTES_OF_MODULES = frozenset(("weight", "bias"))
_PLAIN_ATTRIBUTES = frozenset("shape dtype ndim size".split())
_PLAIN_FUNCTIONS = frozenset("len range int float str bool round repr print isinstance type id ord input open".split())
# Functions that give what they are given, or parts of it.
_PASSING = frozenset("list tuple set dict sorted reversed zip enumerate max min sum abs iter next map filter".split())


class NonTensorNames:
    """The names of one scope. `libraries`: names of imports whose results are plain; `arrays`: those of attributes,
    each with a dot, that hold arrays, where parameters that are annotated as such are taken for plain too."""

    def __init__(self, scope: Scope, libraries: frozenset[str], arrays: frozenset[str] | None = None) -> None:
        self._libraries = libraries
        self._arrays = arrays or frozenset()
        self._wants_arrays = arrays is not None
        self._tensors: frozenset[str] = frozenset()
        self._values: dict[str, list[ast.expr | None]] = {name: [None] for name in parameters_of(scope)}
        if arrays is not None and not isinstance(scope, (ast.Module, ast.ClassDef)):
            self._values.update((name, []) for name in _annotated(scope, ("ndarray", "NDArray")))
            self._tensors = frozenset(_annotated(scope, ("Tensor",)))
        self._known: dict[str, bool] = {}
        for statement in statements_of(scope.body):
            self._collect(statement)

    def _add_lambda(self, argument: ast.expr) -> None:
        """What it is given may be put anywhere: also `handles.append(layer.register_forward_hook(lambda ...))`."""
        if isinstance(argument, ast.Call):
            for each in arguments_of(argument):
                if isinstance(each, ast.Lambda):
                    self._add_lambda(each)
        elif isinstance(argument, ast.Lambda):
            self._values.update((name, [None]) for name in touched_in(argument.body, {}))

    def _collect(self, statement: ast.stmt) -> None:
        for each in stores_of(statement):
            # An array that is changed is one still: `x[0] = t`, `x += t`.
            keeps_array = each.how == "augmented" or isinstance(each.target, ast.Subscript)
            if each.how != "imported" and not (self._wants_arrays and keeps_array):
                self._values.setdefault(each.root, []).append(each.value)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            self._add_lambda(statement.value)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            given = arguments_of(call)
            changed = root_name(call.func)
            if changed is not None and isinstance(call.func, ast.Attribute):
                values = given if call.func.attr in FILLING else []
                self._values.setdefault(changed, []).extend(values)
            if changed not in self._libraries and changed != "print":
                for argument in given:  # what is called for its effect alone may fill what it is given
                    if isinstance(argument, ast.Name):
                        self._values.setdefault(argument.id, []).append(None)
                    elif isinstance(argument, (ast.Lambda, ast.Call)):
                        self._add_lambda(argument)
        elif isinstance(statement, FUNCTIONS) and not self._wants_arrays:
            for name in _filled_within(statement):
                self._values.setdefault(name, []).append(None)
        elif isinstance(statement, (ast.Global, ast.Nonlocal)):
            for name in statement.names:
                self._values.setdefault(name, []).append(None)

    def is_plain(self, node: ast.expr | None, inner: Mapping[str, bool] = MappingProxyType({})) -> bool:
        """`inner` are the variables of the comprehensions around it, and whether they are plain."""
        if node is None:
            return False
        if isinstance(node, ast.Name):
            return inner[node.id] if node.id in inner else self._is_plain_name(node.id)
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return True
        if isinstance(node, ast.Call):
            return self._is_plain_call(node, inner)
        if isinstance(node, ast.Attribute):
            if node.attr in _PLAIN_ATTRIBUTES or (self._arrays and f".{node.attr}" in self._arrays):
                return True
            return self.is_plain(node.value, inner)
        if isinstance(node, (ast.Subscript, ast.Starred)):
            return self.is_plain(node.value, inner)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            for generator in node.generators:
                is_plain = self.is_plain(generator.iter, inner)
                inner = {**inner, **dict.fromkeys(bound_names(generator.target), is_plain)}
            return self.is_plain(node.elt, inner)
        if isinstance(node, ast.Dict):
            return all(self.is_plain(value, inner) for value in node.values)
        if isinstance(node, ast.IfExp):
            return self.is_plain(node.body, inner) and self.is_plain(node.orelse, inner)
        if isinstance(node, ast.BinOp):
            while isinstance(node, ast.BinOp):  # a long sum leans to the left
                if not self.is_plain(node.right, inner):
                    return False
                node = node.left
            return self.is_plain(node, inner)
        if isinstance(node, (ast.BoolOp, ast.UnaryOp, ast.Compare, ast.List, ast.Tuple, ast.Set)):
            parts = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
            return all(self.is_plain(part, inner) for part in parts)
        return False

    def may_be_plain(self, node: ast.expr) -> bool:
        """Whether a name is ever given what is plain, as `x` is by `x = x.numpy()`; of all else as `is_plain`."""
        root = root_name(node)
        return any(map(self.is_plain, self._values.get(root or "", ()))) or self.is_plain(node)

    def reads_as_tensor(self, node: Any, seen: frozenset[str] = frozenset()) -> bool:  # noqa: ANN401
        """Whether something in sight makes it a tensor: torch, a method that only tensors have, a module by its name.

        What a function gives reads as what it is given does; nothing is looked for in what is called itself.
        """
        while node is not None:
            kind = node.__class__  # as isinstance, which is a call for each
            if kind is ast.Name:
                if node.id in self._tensors:
                    return True
                inner = seen | {node.id}
                values = self._values.get(node.id, ()) if node.id not in seen else ()
                return any(self.reads_as_tensor(value, inner) for value in values)
            if kind is ast.Call:
                name = last_name(node.func) or ""
                if name in _METHODS_OF_TENSORS or name.endswith(_MODULES):
                    return True
                if root_name(node.func) in _TORCH:
                    return name not in _NO_TENSORS
                if any(self.reads_as_tensor(argument, seen) for argument in node.args):
                    return True
                node = node.func.value if node.func.__class__ is ast.Attribute else None
            elif kind is ast.Attribute and node.attr in _ATTRIBUTES_OF_MODULES:
                return True
            elif kind is ast.BinOp:
                if self.reads_as_tensor(node.right, seen):
                    return True
                node = node.left
            elif kind is ast.Compare:
                node = node.left
            elif kind is ast.UnaryOp:
                node = node.operand
            else:
                node = node.value if kind in _OF_A_VALUE else None
        return False

    def _is_plain_name(self, name: str) -> bool:
        if name not in self._known:
            self._settle(name)
        return self._known[name]

    def _settle(self, name: str) -> None:
        """Take all that the name is made of for plain, until that holds together."""
        waiting, reached = [name], {name}
        while waiting:
            for value in self._values.get(waiting.pop(), ()):
                for other in names_in(value) - reached if value is not None else ():
                    reached.add(other)
                    waiting.append(other)
        open_names = [each for each in reached if each not in self._known]
        for each in open_names:
            self._known[each] = each in self._values or each in self._libraries
        is_settled = False
        while not is_settled:
            is_settled = True
            for each in open_names:
                if self._known[each] and not all(self.is_plain(value) for value in self._values.get(each, ())):
                    self._known[each] = is_settled = False

    def _is_plain_call(self, call: ast.Call, inner: Mapping[str, bool]) -> bool:
        function = call.func
        given = arguments_of(call)
        if root_name(function) in self._libraries:
            return True
        if isinstance(function, ast.Name):
            if function.id in _PLAIN_FUNCTIONS:
                return True
            if function.id not in _PASSING:
                return False
        elif isinstance(function, ast.Attribute):
            if _gives_no_tensor(call, function.attr):
                return True
            if function.attr in _METHODS_OF_TENSORS or not self.is_plain(function.value, inner):
                return False
        else:
            return False
        return all(self.is_plain(argument, inner) for argument in given)


def _gives_no_tensor(call: ast.Call, method: str) -> bool:
    """By its name. A text is split at nothing or at a text, and not as in `y.split(2, dim=1)`."""
    if method != "split":
        return method in GIVE_NO_TENSOR_BY_SPELLING
    first = next(iter(arguments_of(call)), None)
    return first is None or (isinstance(first, ast.Constant) and not isinstance(first.value, int))


def _filled_within(function: FunctionNode) -> set[str]:
    """The variables around an inner function into which it may put something, whenever it is called."""
    found: set[str] = set()
    for each in walk(function):
        if isinstance(each, ast.Lambda):
            found |= touched_in(each.body, {})
        elif isinstance(each, FUNCTIONS):
            found |= mutated_names(each)
    return found


def _annotated(function: ast.FunctionDef | ast.AsyncFunctionDef, classes: tuple[str, ...]) -> Iterator[str]:
    for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        annotation = parameter.annotation
        if isinstance(annotation, ast.Subscript):
            is_optional = last_name(annotation.value) == "Optional"
            annotation = annotation.slice if is_optional else annotation.value
        if annotation is not None and last_name(annotation) in classes:
            yield parameter.arg
