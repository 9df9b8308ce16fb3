"""Tells if what a repair adds a method to is a tensor on every path.

`np.asarray(x)` takes a list, an array, a number; `x.detach()` takes tensors alone. What a parameter or an attribute is,
its callers decide: it is a tensor where it is annotated, tested or made here, or where all calls in sight give tensors.
"""

from __future__ import annotations

import ast
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk
from tonumpy.text.tree_paths import path_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_MAX_CALLERS = 3  # levels of functions that call each other
_MAX_NAMES = 8  # that one value is computed from in turn
_TENSOR_CLASSES = frozenset(
    "Tensor FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor ShortTensor ByteTensor CharTensor"
    " BoolTensor Parameter Buffer".split()
)
# What other libraries' values have no method for: behind these only a tensor comes through.
_OF_TENSORS = frozenset(
    "cuda cpu detach detach_ requires_grad_ to float double half bfloat16 long int bool to_dense to_sparse resolve_conj"
    " resolve_neg unsqueeze expand expand_as permute view contiguous unfold narrow numel backward clone type_as"
    " log_softmax softmax sigmoid relu tanh exp log sqrt abs argsort topk index_select masked_select gather scatter"
    " new_zeros new_ones new_tensor dequantize cfloat is_sparse register_hook".split()
)
# Attributes and methods that arrays have as well: what comes out is what goes in.
_VIEWS = frozenset("T real imag data grad H mT".split())
_OF_ARRAYS = frozenset(
    "sum mean std var max min argmax argmin any all prod cumsum cumprod dot reshape flatten"
    " ravel squeeze transpose swapaxes repeat round clip conj copy sort item tolist astype trace diagonal take nonzero"
    " pop get values items keys".split()
)
_PASSING = frozenset("sum max min abs list tuple sorted reversed round iter next copy deepcopy".split())
_TORCH = ("torch", "F", "nn")
_NO_TENSORS = frozenset("tolist item numpy size dim numel".split())


class GivenValues:
    """The values of a module's expressions, as far as its callers decide what they are.

    `named_elsewhere` tells whether another file of the repository names a function.
    """

    def __init__(self, tree: ast.Module, named_elsewhere: Callable[[str], bool]) -> None:
        self._tree = tree
        self._named_elsewhere = named_elsewhere

    def is_tensor(self, node: ast.expr) -> bool:
        """True unless an expression that was found to be a tensor may be something else for another caller."""
        return self._is_free(node, path_to(self._tree, node), 0, 0)

    def _is_free(self, node: ast.expr, path: Sequence[ast.AST], names: int, callers: int) -> bool:
        """True if no caller decides whether a value is a tensor."""
        if names > _MAX_NAMES:
            return False
        if isinstance(node, ast.Call):
            return self._is_call_free(node, path, names, callers)
        if isinstance(node, ast.Attribute):
            if node.attr in _VIEWS:
                return self._is_free(node.value, path, names, callers)
            return not _is_name(node.value, "self") or self._is_attribute_tensor(node.attr, path, callers)
        if isinstance(node, ast.Name):
            return self._is_name_free(node, path, names, callers)
        return all(self._is_free(each, path, names, callers) for each in _parts_of(node))

    def _is_call_free(self, node: ast.Call, path: Sequence[ast.AST], names: int, callers: int) -> bool:
        function = node.func
        if isinstance(function, ast.Attribute):
            is_of_library = (path_of(function) or "").partition(".")[0] in _TORCH
            if function.attr in _OF_ARRAYS and not is_of_library:
                return self._is_free(function.value, path, names, callers)
            return True
        if isinstance(function, ast.Name) and function.id in _PASSING:
            return all(self._is_free(each, path, names, callers) for each in node.args)
        return True

    def _is_name_free(self, node: ast.Name, path: Sequence[ast.AST], names: int, callers: int) -> bool:
        for depth in range(len(path) - 1, -1, -1):
            scope = path[depth]
            generators = getattr(scope, "generators", ())
            source = next((each.iter for each in generators if _binds(each.target, node.id)), None)
            if source is not None:
                return self._is_free(source, path[:depth], names + 1, callers)
            if not isinstance(scope, (*FUNCTIONS, ast.Lambda)):
                continue
            inside = path[depth + 1] if depth + 1 < len(path) else None
            statements = scope.body if isinstance(scope.body, list) else []
            values, is_whole = _values_before(statements, inside, path[depth:], node.id)
            if any(each is None or not self._is_free(each, path, names + 1, callers) for each in values):
                return False
            if is_whole:
                return True
            parameter = _parameter(scope, node.id)
            if parameter is not None:
                return self._is_parameter_tensor(scope, parameter, path[: depth + 1], path, callers)
            if values:
                return True
        return True

    def _is_parameter_tensor(
        self, function: Function, parameter: ast.arg, around: Sequence[ast.AST], path: Sequence[ast.AST], callers: int
    ) -> bool:
        if parameter.annotation is not None and not _is_any(parameter.annotation):
            return _names_tensor(parameter.annotation)
        if _is_tested(parameter.arg, path[len(around) - 1 :]):
            return True
        return callers < _MAX_CALLERS and self._do_calls_give_tensors(function, parameter, around, callers)

    def _do_calls_give_tensors(
        self, function: Function, parameter: ast.arg, around: Sequence[ast.AST], callers: int
    ) -> bool:
        if isinstance(function, ast.Lambda) or self._named_elsewhere(function.name):
            return False
        is_method = len(around) > 1 and isinstance(around[-2], ast.ClassDef)
        uses = [each for each in self._uses.get(function.name, ()) if isinstance(each, ast.Attribute) == is_method]
        if not uses:
            return False
        for use in uses:
            path = path_to(self._tree, use)
            call = path[-2] if len(path) > 1 else None
            if not isinstance(call, ast.Call) or call.func is not use:
                return False
            given = _given_for(parameter, function, call, is_method=is_method)
            if given is None or not self._makes_tensor(given, path, callers + 1, 0):
                return False
        return True

    def _makes_tensor(self, node: ast.expr, path: Sequence[ast.AST], callers: int, names: int) -> bool:
        """True if an expression can be nothing but a tensor."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method, root = node.func.attr, (path_of(node.func) or "").partition(".")[0]
            if method in _NO_TENSORS:
                return False
            return root in _TORCH or method in _OF_TENSORS or self._makes_tensor(node.func.value, path, callers, names)
        if isinstance(node, ast.Attribute):
            if node.attr in _VIEWS:
                return self._makes_tensor(node.value, path, callers, names)
            return _is_name(node.value, "self") and self._is_attribute_tensor(node.attr, path, callers)
        if isinstance(node, ast.Subscript):
            return self._makes_tensor(node.value, path, callers, names)
        if isinstance(node, ast.BinOp):
            return any(self._makes_tensor(each, path, callers, names) for each in (node.left, node.right))
        if isinstance(node, ast.UnaryOp):
            return self._makes_tensor(node.operand, path, callers, names)
        if not isinstance(node, ast.Name) or names > _MAX_NAMES:
            return False
        for depth in range(len(path) - 1, -1, -1):
            scope = path[depth]
            if not isinstance(scope, (*FUNCTIONS, ast.Module)):
                continue
            values, is_whole = _values_before(scope.body, path[depth + 1], path[depth:], node.id)
            if values:
                are_tensors = all(
                    each is not None and self._makes_tensor(each, path, callers, names + 1) for each in values
                )
                return are_tensors and (is_whole or isinstance(scope, ast.Module) or not _parameter(scope, node.id))
            parameter = None if isinstance(scope, ast.Module) else _parameter(scope, node.id)
            if parameter is not None:
                assert not isinstance(scope, ast.Module)
                return self._is_parameter_tensor(scope, parameter, path[: depth + 1], path, callers)
        return False

    def _is_attribute_tensor(self, name: str, path: Sequence[ast.AST], callers: int) -> bool:
        """True if a class annotates an attribute of its own as a tensor, or puts nothing but tensors there."""
        owner = next((each for each in reversed(path) if isinstance(each, ast.ClassDef)), None)
        if owner is None:
            return False
        declared = _declared_in(owner, name)
        if declared is not None:
            return declared
        writes = list(_writes_in(owner, name))
        return bool(writes) and all(
            _is_made_by_torch(each) or self._is_given_to_constructor(each, owner, callers) for each in writes
        )

    def _is_given_to_constructor(self, value: ast.expr, owner: ast.ClassDef, callers: int) -> bool:
        """True if a value is a parameter of the constructor, and all objects that are made in sight give a tensor."""
        made = next((each for each in owner.body if isinstance(each, FUNCTIONS) and each.name == "__init__"), None)
        if made is None or not isinstance(value, ast.Name) or callers >= _MAX_CALLERS:
            return False
        parameter = _parameter(made, value.id)
        if parameter is None or self._named_elsewhere(owner.name):
            return False
        if parameter.annotation is not None and not _is_any(parameter.annotation):
            return _names_tensor(parameter.annotation)
        calls = list[bool]()
        for use in (*self._uses.get(owner.name, ()), *self._uses.get("cls", ())):
            path = path_to(self._tree, use)
            call = path[-2] if len(path) > 1 else None
            if last_name(use) == "cls" and owner not in path:
                continue
            given = _given_for(parameter, made, call, is_method=True) if isinstance(call, ast.Call) else None
            calls.append(given is not None and self._makes_tensor(given, path, callers + 1, 0))
        return bool(calls) and all(calls)

    @cached_property
    def _uses(self) -> dict[str, list[ast.Name | ast.Attribute]]:
        found: dict[str, list[ast.Name | ast.Attribute]] = {}
        for node in walk(self._tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                found.setdefault(last_name(node) or "", []).append(node)
        return found


def _parts_of(node: ast.expr) -> list[ast.expr]:
    """The expressions that decide what an expression is, apart from calls, names and attributes."""
    if isinstance(node, (ast.Subscript, ast.Starred, ast.Await, ast.NamedExpr)):
        return [node.value]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    return []


def _values_before(
    statements: list[ast.stmt], inside: ast.AST | None, path: Sequence[ast.AST], name: str
) -> tuple[list[ast.expr | None], bool]:
    """The expressions that a name may be bound to before a place, None for one that is not known, and whether they are
    all: the name is bound anew whichever way the code takes."""
    values: list[ast.expr | None] = []
    is_whole = False
    for statement in statements:
        bound = list(_bindings(statement, name))
        if statement is inside:
            if any(isinstance(each, ast.stmt) for each in path[2:]):  # it stands in a block of the statement
                values += bound
            break
        if bound and isinstance(statement, (ast.Assign, ast.AnnAssign)):
            values, is_whole = bound, True
        else:
            values += bound
    return values, is_whole


def _bindings(statement: ast.stmt, name: str) -> Iterator[ast.expr | None]:
    for each in statements_of([statement]):
        if isinstance(each, ast.Assign) and any(_binds(target, name) for target in each.targets):
            yield _matching(each, name)
        elif isinstance(each, (ast.AnnAssign, ast.AugAssign)) and _binds(each.target, name):
            if isinstance(each, ast.AnnAssign):
                yield each.value
        elif isinstance(each, (ast.For, ast.AsyncFor)) and _binds(each.target, name):
            yield each.iter
        elif isinstance(each, (ast.With, ast.AsyncWith)):
            items = (item for item in each.items if item.optional_vars is not None)
            yield from (item.context_expr for item in items if _binds(item.optional_vars, name))


def _matching(statement: ast.Assign, name: str) -> ast.expr:
    """The part of a tuple that a name gets, or the whole value."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return next((part for part, each in zip(value.elts, target.elts, strict=True) if _binds(each, name)), value)
    return value


def _binds(target: ast.AST | None, name: str) -> bool:
    if target is None:
        return False
    return any(isinstance(each, ast.Name) and each.id == name and _is_stored(each) for each in walk(target))


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _parameter(function: Function, name: str) -> ast.arg | None:
    taken = function.args
    every = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
    return next((each for each in every if each is not None and each.arg == name), None)


def _given_for(
    parameter: ast.arg, function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, *, is_method: bool
) -> ast.expr | None:
    """The argument that a call gives a parameter; None if that is not plain to see."""
    named = next((each.value for each in call.keywords if each.arg == parameter.arg), None)
    if named is not None:
        return named
    positional = [*function.args.posonlyargs, *function.args.args]
    is_static = any(last_name(each) == "staticmethod" for each in function.decorator_list)
    first = 1 if is_method and not is_static else 0
    at = next((number for number, each in enumerate(positional) if each is parameter), None)
    if at is None or any(isinstance(each, ast.Starred) for each in call.args) or not 0 <= at - first < len(call.args):
        return None
    return call.args[at - first]


def _is_any(annotation: ast.expr) -> bool:
    return last_name(annotation) in ("Any", "object")


def _names_tensor(annotation: ast.expr) -> bool:
    """True if an annotation allows nothing but a tensor, or None, which NumPy makes no array of that anybody wants."""
    if isinstance(annotation, ast.Constant):
        if annotation.value is None:
            return True
        try:
            return isinstance(annotation.value, str) and _names_tensor(ast.parse(annotation.value, mode="eval").body)
        except SyntaxError:
            return False
    if isinstance(annotation, ast.BinOp):
        return _names_tensor(annotation.left) and _names_tensor(annotation.right)
    if isinstance(annotation, ast.Subscript):
        inner = annotation.slice
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if last_name(annotation.value) in ("Optional", "Union", "Annotated", "Final", "ClassVar"):
            return all(map(_names_tensor, parts if last_name(annotation.value) != "Annotated" else parts[:1]))
        if last_name(annotation.value) in ("list", "List", "tuple", "Tuple", "Sequence", "Iterable", "dict", "Dict"):
            return all(map(_names_tensor, parts[-1:]))  # of its items
        return any(map(_names_tensor, parts))  # `Float[Tensor, "n 3"]`
    return last_name(annotation) in _TENSOR_CLASSES


def _is_tested(name: str, path: Sequence[ast.AST]) -> bool:
    """True if code around a place, or before it in the same blocks, has shown that a name is a tensor."""
    for outer, inner in pairwise(path):
        if isinstance(outer, (ast.If, ast.IfExp)):
            is_body = inner is outer.body or (
                isinstance(outer.body, list) and any(each is inner for each in outer.body)
            )
            is_else = not is_body and inner is not outer.test
            if (is_body and _shows(outer.test, name, True)) or (is_else and _shows(outer.test, name, False)):
                return True
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(outer, block, None)
            if not isinstance(statements, list) or not any(each is inner for each in statements):
                continue
            for statement in statements:
                if statement is inner:
                    break
                if isinstance(statement, ast.Assert) and _shows(statement.test, name, True):
                    return True
                leaves = isinstance(statement, ast.If) and isinstance(
                    statement.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)
                )
                if isinstance(statement, ast.If) and leaves and _shows(statement.test, name, False):
                    return True
    return False


def _shows(test: ast.expr, name: str, truth: bool) -> bool:
    """True if a test that comes out so shows that a name is a tensor."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _shows(test.operand, name, not truth)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == truth:
        return any(_shows(each, name, truth) for each in test.values)
    if not truth or not isinstance(test, ast.Call) or not test.args or not _is_name(test.args[0], name):
        return False
    if last_name(test.func) == "is_tensor":
        return True
    return last_name(test.func) == "isinstance" and len(test.args) == 2 and _names_tensor(test.args[1])


def _declared_in(owner: ast.ClassDef, name: str) -> bool | None:
    """True if an annotation, or `register_buffer`, says that an attribute is a tensor; None where nothing is said."""
    for node in walk(owner):
        if isinstance(node, ast.AnnAssign) and _names(node.target, name):
            return _names_tensor(node.annotation)
        if isinstance(node, ast.Call) and last_name(node.func) in ("register_buffer", "register_parameter"):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and first.value == name:
                return True
    return None


def _writes_in(owner: ast.ClassDef, name: str) -> Iterator[ast.expr]:
    """The values that assignments in a class give to an attribute of this name."""
    for node in walk(owner):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if _names(target, name):
                assert isinstance(node, ast.Assign)
                yield node.value
            elif isinstance(target, ast.Tuple) and any(_names(each, name) for each in target.elts):
                yield target  # which is no tensor: a part of it is not plain to see


def _names(target: ast.expr, name: str) -> bool:
    is_plain = isinstance(target, ast.Name) and target.id == name
    return is_plain or (isinstance(target, ast.Attribute) and target.attr == name)


def _is_made_by_torch(node: ast.expr) -> bool:
    """`torch.zeros(3).to(device)`, `nn.Parameter(...)`, `self.net(x)` of a model that is called."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            name, root = last_name(node.func), (path_of(node.func) or "").partition(".")[0]
            if name in _NO_TENSORS:
                return False
            if root in _TORCH or name in _OF_TENSORS:
                return True
            node = node.func
        else:
            node = node.value
    return False
