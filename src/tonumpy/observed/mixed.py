"""Finds the tensor of an operation on an array that a run has seen to convert it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.chains import chain_of
from tonumpy.observed.given import is_surely_tensor
from tonumpy.sinks.operators import ORDER, operands_of
from tonumpy.text.names import spelling_of
from tonumpy.text.syntax import indices_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.conversions import ImplicitConversion, Mixture
    from tonumpy.engine.interpreter.frame import Observation
    from tonumpy.engine.values.values import Value
    from tonumpy.observed.sighting import Sighting
    from tonumpy.sinks.operators import Operands
    from tonumpy.text.candidates import OperationSite


def mixed_in(
    site: OperationSite, sighting: Sighting, made: ImplicitConversion, seen: Observation | None
) -> Iterator[ImplicitConversion]:
    """`made` for the operand that is the tensor; nothing where that cannot be told. It keeps its value where the text
    shows it to be a tensor: an array may come there at other times."""
    operands = operands_of(site.node, site.statement)
    if operands is None:
        return
    names = {name for held in sighting.held for name, kind in held.names if kind == "itself"}
    mixture, node = _index(operands, names) if operands.key is not None else _operator(site.node, operands, names)
    if node is None:
        return
    found = made._replace(argument=node, chain=chain_of(node), mixture=mixture)
    if mixture in ("index", "equality"):  # these two ask for the device alone
        found = found._replace(requires_grad=False, dtype=None, layout=None, bit=None)
    keeps_value = mixture in ("index", "put into array") and is_surely_tensor(_value(operands, node, seen))
    yield found._replace(keeps_value=keeps_value)


def _operator(node: ast.expr | ast.AugAssign, operands: Operands, names: set[str]) -> tuple[Mixture, ast.expr | None]:
    left, right = operands.left, operands.right
    assert right is not None
    second = spelling_of(right) in names and spelling_of(left) not in names
    tensor = right if second else left
    if isinstance(node, ast.Compare):
        if isinstance(node.ops[0], ORDER):
            return "comparison", tensor
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):  # an array compares what is looked for with its own items
            return "equality", left
        return ("equality" if isinstance(node.ops[0], ast.Eq) else "difference"), tensor
    if second:
        return ("division" if isinstance(getattr(node, "op", None), ast.Div) else "array first"), right
    return "tensor first", left


def _index(operands: Operands, names: set[str]) -> tuple[Mixture, ast.expr | None]:
    """The mixture of what is put into an array, or of the index of one."""
    assert operands.key is not None
    parts = indices_of(operands.key)
    of_index = [part for part in parts if spelling_of(part) in names]
    if not of_index and operands.right is None:
        of_index = [part for part in parts if not isinstance(part, (ast.Constant, ast.Slice))]
    if of_index:
        return "index", of_index[0] if len(of_index) == 1 else None
    return "put into array", operands.right


def _value(operands: Operands, node: ast.expr | ast.AugAssign, seen: Observation | None) -> Value | None:
    """The value of what is put into an array, or of the index of one; None of a part of an index."""
    if seen is None or operands.key is None:
        return None
    first, last = seen.arguments.positional[0], seen.arguments.positional[-1]
    if node is operands.right:
        return last
    index = last if operands.right is None else first
    return None if isinstance(operands.key, ast.Tuple) else index
