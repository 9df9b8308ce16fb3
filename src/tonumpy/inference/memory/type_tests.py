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
    parameters, returned = parameter_names(callee.node.args), _returned_by(callee.node)
    if (
        returned is None
        or callee.owner is not None
        or test.keywords
        or any(isinstance(each, ast.Starred) for each in test.args)
    ):
        return
    given = given_to(parameters, test, test.args)
    for name, side in types_shown_by(returned, holds, callee_of, depth + 1):
        argument = given.get(name)
        if isinstance(argument, ast.Name):
            yield argument.id, side


def _returned_by(function: ast.FunctionDef) -> ast.expr | None:
    """What a function of one statement, and perhaps a docstring, returns."""
    first, last = function.body[0], function.body[-1]
    if len(function.body) > 2 or not isinstance(last, ast.Return):
        return None
    is_one = first is last or (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant))
    return last.value if is_one else None


def _by_class(test: ast.Compare, holds: bool) -> Iterator[tuple[str, Side]]:
    """`type(x) is np.ndarray`; what is no `torch.Tensor` itself may be a Parameter."""
    verdict = _VERDICTS.get(type(test.ops[0]))
    subject, asked = _subject_of_type(test.left), path_of(test.comparators[0])
    if subject is None or verdict is None or len(test.ops) > 1:
        return
    if asked in _OF_ARRAYS:
        yield subject, "array" if holds is verdict else "tensor"
    elif asked in _OF_TENSORS and holds is verdict:
        yield subject, "tensor"


_VERDICTS: dict[type[ast.cmpop], bool] = {ast.Is: True, ast.Eq: True, ast.IsNot: False, ast.NotEq: False}


def _subject_of_type(node: ast.expr) -> str | None:
    """`x` for `type(x)`"""
    if not isinstance(node, ast.Call) or path_of(node.func) != "type" or len(node.args) != 1:
        return None
    return node.args[0].id if isinstance(node.args[0], ast.Name) else None


def _by_call(test: ast.Call, holds: bool) -> Side | None:
    name = last_name(test.func)
    if name in _TESTS:
        return _TESTS[name] if holds else _other(_TESTS[name])
    asked = test.args[1] if len(test.args) == 2 else None
    if isinstance(asked, ast.Constant):
        is_of_tensors = name == "hasattr" and asked.value in _ATTRIBUTES_OF_TENSORS
        return None if not is_of_tensors else "tensor" if holds else "array"
    if name != "isinstance" or asked is None:
        return None
    return _by_classes(
        {path_of(each) or "" for each in (asked.elts if isinstance(asked, ast.Tuple) else [asked])}, holds
    )


def _by_classes(classes: set[str], holds: bool) -> Side | None:
    """An object of one of these, or of none; which classes of other names extend is not known."""
    has_arrays = not _OF_ARRAYS.isdisjoint(classes)
    has_tensors = not (_OF_TENSORS if holds else _ALL_TENSORS).isdisjoint(classes)
    is_known = not holds or classes <= _OF_ARRAYS | _OF_TENSORS | _OF_NEITHER
    if has_arrays is has_tensors or not is_known:
        return None
    return "array" if has_arrays is holds else "tensor"


def _other(side: Side) -> Side:
    return "tensor" if side == "array" else "array"
