"""What calls, indices and loaders say of sizes and dimensions by their spelling."""

from __future__ import annotations

import ast

from tonumpy.engine.names.bindings import defaults_of
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS

_NUMBERS = ("float", "int")


def function_named(name: str, body: list[ast.stmt]) -> ast.FunctionDef | None:
    """The one function, or method of a class of a module, that is called so."""
    within = [each for each in body if isinstance(each, ast.ClassDef)]
    places = [*body, *(part for cls in within for part in cls.body)]
    found = [each for each in places if isinstance(each, ast.FunctionDef) and each.name == name]
    return found[0] if len(found) == 1 else None


def numbers_given(scope: ast.AST) -> frozenset[str]:
    """The parameters of a function that are declared numbers, or are ones by default: `threshold=0.5`."""
    if not isinstance(scope, FUNCTIONS):
        return frozenset()
    named = (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)
    found = {each.arg for each in named if each.annotation is not None and last_name(each.annotation) in _NUMBERS}
    found |= {name for name, default in defaults_of(scope.args) if _is_number(default)}
    return frozenset(found)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def is_single_loader(node: ast.expr | None) -> bool:
    """`DataLoader(data, batch_size=1)`, or without a size, which is one then."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "DataLoader":
        return False
    named = {each.arg: each.value for each in node.keywords}
    if None in named or "collate_fn" in named or "batch_sampler" in named:
        return False
    size = node.args[1] if len(node.args) > 1 else named.get("batch_size")
    return size is None or (isinstance(size, ast.Constant) and size.value == 1)


def is_new_axis(part: ast.expr) -> bool:
    return (isinstance(part, ast.Constant) and part.value is None) or last_name(part) == "newaxis"


def is_of_one_row(part: ast.Slice) -> bool:
    """`:1`, `-1:`, `2:3`, `at : at + 1`."""
    lower, upper = part.lower, part.upper
    if part.step is not None:
        return False
    if upper is None:
        return lower is not None and number_in(lower) == -1
    if lower is None:
        return number_in(upper) == 1
    first, last = number_in(lower), number_in(upper)
    if first is not None and last is not None:
        return last - first == 1 and first * last >= 0 and last != 0
    is_next = isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add) and number_in(upper.right) == 1
    return is_next and ast.dump(upper.left) == ast.dump(lower)  # type: ignore[attr-defined]


def number_in(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_in(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def called_in(node: ast.expr) -> ast.expr:
    """What `x.size(0)` calls, and `x.shape[0]` indexes."""
    if isinstance(node, ast.Call):
        return node.func
    return node.value if isinstance(node, ast.Subscript) else node


def sizes_in(args: list[ast.expr]) -> list[int | None]:
    given = args[0].elts if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)) else args
    return [number_in(each) for each in given]


def dim_at(call: ast.Call, position: int) -> int | None:
    return dim_in(call, call.args[position:])


def dim_in(call: ast.Call, args: list[ast.expr]) -> int | None:
    """The dimension that is given first, or by its name."""
    if args:
        return number_in(args[0])
    return next((number_in(each.value) for each in call.keywords if each.arg in ("dim", "axis")), None)


def keeps_dim(call: ast.Call, args: list[ast.expr]) -> bool:
    given = [*args[1:2], *(each.value for each in call.keywords if each.arg in ("keepdim", "keepdims"))]
    return any(isinstance(each, ast.Constant) and each.value is True for each in given)
