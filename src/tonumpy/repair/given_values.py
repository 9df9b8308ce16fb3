"""Decides whether an expression that a repair adds a method to is a tensor on every path.

`np.asarray(x)` accepts a list, an array, a number; `x.detach()` needs a tensor. Callers decide the type of a parameter
or attribute, and may change: it counts as a tensor only if it is annotated, tested or created here.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tonumpy.engine.names.bindings import is_name
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, indices_of, statements_of, walk
from tonumpy.text.tree_paths import path_to

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_MAX_NAMES = 8  # followed in a chain from one value
_TENSOR_CLASSES = frozenset(
    "Tensor FloatTensor DoubleTensor HalfTensor BFloat16Tensor LongTensor IntTensor ShortTensor ByteTensor CharTensor"
    " BoolTensor Parameter Buffer".split()
)
# Attributes and methods that arrays have as well, with a result of the same type.
_VIEWS = frozenset("T real imag data grad H mT".split())
_OF_ARRAYS = frozenset(
    "sum mean std var max min argmax argmin any all prod cumsum cumprod dot reshape flatten"
    " ravel squeeze transpose swapaxes repeat round clip conj copy sort item tolist astype trace diagonal take nonzero"
    " pop get values items keys".split()
)
_PASSING = frozenset("max min abs list tuple sorted reversed round iter next copy deepcopy".split())
_TORCH = ("torch", "F", "nn")
_CONTAINERS = frozenset("list List tuple Tuple Sequence Iterable dict Dict".split())  # the last part is their items
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def is_tensor_on_every_path(node: ast.expr, tree: ast.Module) -> bool:
    """True unless an expression that was inferred to be a tensor may have another type for other callers."""
    return _is_free(node, path_to(tree, node), 0)


def _is_free(node: ast.expr, path: Sequence[ast.AST], names: int) -> bool:
    """True if no caller can make a value something else than a tensor."""
    if names > _MAX_NAMES:
        return False
    if isinstance(node, ast.Call):
        is_sum = is_name(node.func, "sum")  # the sum of no items is the number 0
        return not is_sum and all(_is_free(each, path, names) for each in _passed_on(node))
    if isinstance(node, ast.Attribute):
        if node.attr in _VIEWS:
            return _is_free(node.value, path, names)
        return not is_name(node.value, "self") or _is_attribute_tensor(node.attr, path)
    if isinstance(node, ast.Name):
        return _is_name_free(node, path, names)
    return all(_is_free(each, path, names) for each in _parts_of(node))


def _passed_on(call: ast.Call) -> list[ast.expr]:
    """The receiver or arguments that decide whether a call returns a tensor; empty if none does."""
    function = call.func
    if isinstance(function, ast.Attribute):
        is_of_library = (path_of(function) or "").partition(".")[0] in _TORCH
        return [function.value] if function.attr in _OF_ARRAYS and not is_of_library else []
    return call.args if isinstance(function, ast.Name) and function.id in _PASSING else []


def _is_name_free(node: ast.Name, path: Sequence[ast.AST], names: int) -> bool:
    for depth in range(len(path) - 1, -1, -1):
        scope = path[depth]
        generators = getattr(scope, "generators", ())
        source = next((each.iter for each in generators if _binds(each.target, node.id)), None)
        if source is not None:
            return _is_free(source, path[:depth], names + 1)
        if not isinstance(scope, (*FUNCTIONS, ast.Lambda)):
            continue
        values, is_whole = _values_before(scope, path[depth:], node.id)
        if any(each is None or not _is_free(each, path, names + 1) for each in values):
            return False
        parameter = _parameter(scope, node.id) if not is_whole else None
        if parameter is not None:
            return _is_parameter_tensor(parameter, path[depth:])
        if values or is_whole:
            return True
    is_in_function = any(isinstance(each, (*FUNCTIONS, ast.Lambda)) for each in path)
    return not is_in_function or not _is_container_of_module(node.id, path[0])


def _is_parameter_tensor(parameter: ast.arg, path: Sequence[ast.AST]) -> bool:
    """True if a parameter is annotated as a tensor or, without a useful annotation, tested before its use."""
    if parameter.annotation is not None and last_name(parameter.annotation) not in ("Any", "object"):
        return _names_tensor(parameter.annotation)
    return _is_tested(parameter.arg, path)


def _is_container_of_module(name: str, tree: ast.AST) -> bool:
    """True for a list or dict of the module: other code may put anything into it before a function runs."""
    values = (value for statement in getattr(tree, "body", ()) for value in _bindings(statement, name))
    return any(isinstance(each, (ast.Dict, ast.DictComp, ast.List, ast.ListComp)) for each in values)


def _is_attribute_tensor(name: str, path: Sequence[ast.AST]) -> bool:
    """True if the class declares the attribute as a tensor: other code may assign anything to undeclared ones."""
    owner = next((each for each in reversed(path) if isinstance(each, ast.ClassDef)), None)
    for node in walk(owner) if owner is not None else ():
        if isinstance(node, ast.AnnAssign) and _names(node.target, name):
            return _names_tensor(node.annotation)
        if _is_registered(node, name):
            return True
    return False


def _is_registered(node: ast.AST, name: str) -> bool:
    """True for `self.x = Parameter(...)`, after which torch accepts no other type, and `self.register_buffer(...)`."""
    if isinstance(node, ast.Assign) and any(_names(each, name) for each in node.targets):
        return isinstance(node.value, ast.Call) and last_name(node.value.func) == "Parameter"
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(first, ast.Constant) or first.value != name:
        return False
    return isinstance(node, ast.Call) and last_name(node.func) in ("register_buffer", "register_parameter")


_PARTS: dict[type[ast.AST], tuple[str, ...]] = {
    **dict.fromkeys((ast.Subscript, ast.Starred, ast.Await, ast.NamedExpr), ("value",)),
    ast.BinOp: ("left", "right"),
    ast.UnaryOp: ("operand",),
    ast.IfExp: ("body", "orelse"),
}


def _parts_of(node: ast.expr) -> list[ast.expr]:
    """The subexpressions that decide the type of an expression other than a call, name or attribute."""
    return node.values if isinstance(node, ast.BoolOp) else [getattr(node, part) for part in _PARTS.get(type(node), ())]


def _values_before(scope: Function, path: Sequence[ast.AST], name: str) -> tuple[list[ast.expr | None], bool]:
    """The expressions that a name may be bound to in a function before the end of a path, None for an unknown one, and
    whether these are all: the name is rebound on every path."""
    values: list[ast.expr | None] = []
    is_whole = False
    for statement in scope.body if isinstance(scope.body, list) else ():
        bound = list(_bindings(statement, name))
        if statement in path[1:2]:
            if any(isinstance(each, ast.stmt) for each in path[2:]):  # it is in a block of the statement
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
    """The item of a tuple that a name is bound to, or the whole value."""
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return next((part for part, each in zip(value.elts, target.elts, strict=True) if _binds(each, name)), value)
    return value


def _binds(target: ast.AST | None, name: str) -> bool:
    if target is None:
        return False
    return any(
        isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store) for each in walk(target)
    )


def _parameter(function: Function, name: str) -> ast.arg | None:
    taken = (each for each in ast.iter_child_nodes(function.args) if isinstance(each, ast.arg))
    return next((each for each in taken if each.arg == name), None)


def _names_tensor(annotation: ast.expr) -> bool:
    """True if an annotation allows only tensors and None: `Optional` values are mostly tested elsewhere."""
    if isinstance(annotation, ast.Constant):
        if annotation.value is None:
            return True
        try:
            return isinstance(annotation.value, str) and _names_tensor(ast.parse(annotation.value, mode="eval").body)
        except SyntaxError:
            return False
    if isinstance(annotation, ast.BinOp):
        return _names_tensor(annotation.left) and _names_tensor(annotation.right)
    if isinstance(annotation, ast.Subscript):  # a container, `Optional[Tensor]` or `Float[Tensor, "n 3"]`
        name, parts = last_name(annotation.value), indices_of(annotation.slice)
        parts = parts[-1:] if name in _CONTAINERS else parts[:1] if name == "Annotated" else parts
        return (all if name in ("Optional", "Union") else any)(map(_names_tensor, parts))
    return last_name(annotation) in _TENSOR_CLASSES


def _is_tested(name: str, path: Sequence[ast.AST]) -> bool:
    """True if a test around a place, or before it in the same blocks, proves that a name is a tensor."""
    for outer, inner in pairwise(path):
        if isinstance(outer, (ast.If, ast.IfExp)) and inner is not outer.test:
            body = outer.body if isinstance(outer.body, list) else [outer.body]
            if _shows(outer.test, name, inner in body):
                return True
        fields = (getattr(outer, field, None) for field in ("body", "orelse", "finalbody"))
        block: list[Any] = next((each for each in fields if isinstance(each, list) and inner in each), [inner])
        if any(_proves(each, name) for each in block[: block.index(inner)]):
            return True
    return False


def _proves(statement: ast.stmt, name: str) -> bool:
    """True if code after a statement is reached only if a name is a tensor: `if not isinstance(..): return`."""
    if isinstance(statement, ast.Assert):
        return _shows(statement.test, name, True)
    if isinstance(statement, ast.If) and isinstance(statement.body[-1], _LEAVING):
        return _shows(statement.test, name, False)
    return False


def _shows(test: ast.expr, name: str, truth: bool) -> bool:
    """True if a test with this outcome proves that a name is a tensor."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _shows(test.operand, name, not truth)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == truth:
        return any(_shows(each, name, truth) for each in test.values)
    if not truth or not isinstance(test, ast.Call) or not test.args or not is_name(test.args[0], name):
        return False
    if last_name(test.func) == "is_tensor":
        return True
    return last_name(test.func) == "isinstance" and len(test.args) == 2 and _names_tensor(test.args[1])


def _names(target: ast.expr, name: str) -> bool:
    is_plain = isinstance(target, ast.Name) and target.id == name
    return is_plain or (isinstance(target, ast.Attribute) and target.attr == name)
