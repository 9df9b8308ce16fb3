"""From a test to what it shows of the type of a name in each of its branches: that it is no array, or no tensor."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import given_to, parameter_names, path_of
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tonumpy.inference.memory.effects import Callee
    from tonumpy.inference.memory.regions import Side

MAX_DEPTH = 2  # of own functions that return a test
_OF_ARRAYS = frozenset(("ndarray", "np.ndarray", "numpy.ndarray"))
_OF_TENSORS = frozenset(("Tensor", "torch.Tensor", "Parameter", "nn.Parameter", "torch.nn.Parameter"))
_ALL_TENSORS = frozenset(("Tensor", "torch.Tensor"))
_OF_NEITHER = frozenset("list tuple dict set int float complex bool str bytes".split())
# By array_api_compat and transformers, both documented as a test of the class.
_TESTS: dict[str, Side] = {
    "is_tensor": "tensor",
    "is_torch_array": "tensor",
    "is_torch_tensor": "tensor",
    "is_numpy_array": "array",
}
_ATTRIBUTES_OF_TENSORS = frozenset("detach cpu cuda numpy requires_grad is_cuda grad".split())


def types_shown_by(
    test: ast.expr, holds: bool, callee_of: Callable[[ast.Call], Callee | None], depth: int = 0
) -> Iterator[tuple[str, Side]]:
    """The names of which a test, where it holds or does not, shows that they are no tensor ("array"), or no array."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from types_shown_by(test.operand, not holds, callee_of, depth)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is holds:
            for part in test.values:
                yield from types_shown_by(part, holds, callee_of, depth)
    elif isinstance(test, ast.Compare):
        yield from _by_class(test, holds)
    elif isinstance(test, ast.Call):
        subject = test.args[0] if test.args else None
        shown = _by_call(test, holds)
        if shown is not None:
            if isinstance(subject, ast.Name):
                yield subject.id, shown
            return
        callee = callee_of(test) if depth < MAX_DEPTH and isinstance(subject, ast.Name) else None
        if callee is not None:
            yield from _by_own_function(callee, test, holds, callee_of, depth)


def _by_own_function(
    callee: Callee, test: ast.Call, holds: bool, callee_of: Callable[[ast.Call], Callee | None], depth: int
) -> Iterator[tuple[str, Side]]:
    """`def is_numpy(x): return isinstance(x, np.ndarray)`"""
    body = [each for each in callee.node.body if not _is_docstring(each)]
    parameters = parameter_names(callee.node.args)
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return
    if callee.owner is not None or test.keywords or any(isinstance(each, ast.Starred) for each in test.args):
        return
    given = given_to(parameters, test, test.args)
    for name, side in types_shown_by(body[0].value, holds, callee_of, depth + 1):
        argument = given.get(name)
        if isinstance(argument, ast.Name):
            yield argument.id, side


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _by_class(test: ast.Compare, holds: bool) -> Iterator[tuple[str, Side]]:
    """`type(x) is np.ndarray`; what is no `torch.Tensor` itself may be a Parameter."""
    call, classes = test.left, path_of(test.comparators[0])
    if len(test.ops) > 1 or not isinstance(call, ast.Call) or path_of(call.func) != "type" or len(call.args) != 1:
        return
    if isinstance(test.ops[0], (ast.IsNot, ast.NotEq)):
        holds = not holds
    elif not isinstance(test.ops[0], (ast.Is, ast.Eq)):
        return
    subject = call.args[0]
    if isinstance(subject, ast.Name):
        if classes in _OF_ARRAYS:
            yield subject.id, "array" if holds else "tensor"
        elif classes in _OF_TENSORS and holds:
            yield subject.id, "tensor"


def _by_call(test: ast.Call, holds: bool) -> Side | None:
    name = last_name(test.func)
    if name in _TESTS:
        return _TESTS[name] if holds else _other(_TESTS[name])
    if len(test.args) != 2 or not isinstance(test.func, ast.Name):
        return None
    if name == "hasattr":
        attribute = test.args[1]
        is_of_tensors = isinstance(attribute, ast.Constant) and attribute.value in _ATTRIBUTES_OF_TENSORS
        return None if not is_of_tensors else "tensor" if holds else "array"
    if name != "isinstance":
        return None
    asked = test.args[1]
    classes = [path_of(each) or "" for each in (asked.elts if isinstance(asked, ast.Tuple) else [asked])]
    has_arrays = not _OF_ARRAYS.isdisjoint(classes)
    if not holds:
        has_tensors = not _ALL_TENSORS.isdisjoint(classes)
        return None if has_arrays is has_tensors else "array" if has_tensors else "tensor"
    has_tensors = not _OF_TENSORS.isdisjoint(classes)
    is_known = all(each in _OF_ARRAYS or each in _OF_TENSORS or each in _OF_NEITHER for each in classes)
    return None if has_arrays is has_tensors or not is_known else "array" if has_arrays else "tensor"


def _other(side: Side) -> Side:
    return "tensor" if side == "array" else "array"
