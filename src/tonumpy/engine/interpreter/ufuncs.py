"""NumPy's boolean ufuncs on a tensor: they return a uint8 tensor, which is no mask."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import Arguments, Tensor, Value, is_number
from tonumpy.text.prefilter import BOOLEAN_UFUNCS

# Full name to the name of torch's equivalent; empty if there is none.
UFUNCS = {
    **{f"numpy.{name}": name for name in BOOLEAN_UFUNCS if name not in ("equal", "contains_xy", "intersects_xy")},
    "numpy.equal": "eq",  # `torch.equal` gives one bool
    "shapely.contains_xy": "",
    "shapely.intersects_xy": "",
}
# Methods whose result still is a mask of 0 and 1.
_KEEPING = frozenset("all any clone contiguous cpu detach flatten numpy ravel reshape squeeze t transpose view".split())
_JOINING = (ast.BitAnd, ast.BitOr, ast.BitXor)


def result_of(node: ast.Call, called: str, arguments: Arguments, made: Value) -> Value:
    """The result of a call: a uint8 tensor for a boolean ufunc of a tensor, else `made`."""
    if called not in UFUNCS:
        return made
    tensors = [tensor for value in arguments.positional for tensor in sole_tensors(value)]
    if not tensors:
        return made
    made_of = frozenset[ast.Call]().union(*(each.ufuncs for each in tensors)) or frozenset((node,))
    return Tensor(True, False, "uint8", tensors[0].certainty, ufuncs=made_of)


def after_method(receiver: Value, name: str, made: Value) -> Value:
    """The result of a method; it stays a ufunc's result only after methods in _KEEPING."""
    if not isinstance(receiver, Tensor) or not receiver.ufuncs or not isinstance(made, Tensor):
        return made
    return made._replace(ufuncs=receiver.ufuncs if name in _KEEPING else frozenset())


def after_operator(operator: ast.operator, left: Value, right: Value, made: Value) -> Value:
    """The result of an operator; `isnan(x) | isinf(x)` is a ufunc's result too."""
    if not isinstance(made, Tensor) or not isinstance(operator, _JOINING):
        return made
    ufuncs = [each.ufuncs for each in (left, right) if isinstance(each, Tensor)]
    return made._replace(ufuncs=frozenset[ast.Call]().union(*ufuncs))


def sole_tensors(value: Value) -> Iterator[Tensor]:
    """The tensor among the members of a value, if it can be converted and all other members are numbers."""
    tensors = [each for each in members(value) if isinstance(each, Tensor)]
    others = [each for each in members(value) if not isinstance(each, Tensor) and not is_number(each)]
    if len(tensors) == 1 and not others and tensors[0].on_cpu is not False and not tensors[0].requires_grad:
        yield tensors[0]
