"""The implicit conversions in operations in which an array and a tensor surely meet.
The effect of each was measured (tests/operator_table.py). NumPy leaves `array - tensor` to the tensor, and torch
refuses it; torch leaves `tensor - array` to NumPy, which converts the tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from tonumpy.conversions import Mixture, MixtureKind
from tonumpy.detectors.arguments import facts_of, made_of, spelt
from tonumpy.detectors.lost_gradients import used_by_torch
from tonumpy.detectors.operator_sites import ORDER, find_operations, operands_of
from tonumpy.detectors.registry import Search
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.knowledge.arrays import dimensions_of
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values import values as v
from tonumpy.text.candidates import OperationSite
from tonumpy.text.syntax import indices_of

KIND = "operations"

# Far fewer than for arguments: both sides must be known.


class _Mixed(NamedTuple):
    """The tensor of an operation, and the kind of the operation."""

    kind: MixtureKind
    node: ast.expr
    value: v.Value


def find(search: Search) -> list[Mixture]:
    """The conversions at risk, with or without habits, in the order of the sites."""
    module = search.module
    if not (sites := find_operations(module.source, search.risks)):
        return []
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code
    observed = observe(module, sites)
    found = {}
    for site in sites:
        seen = observed.get(id(site.node))
        for conversion in () if seen is None else _conversions(site, seen):
            if conversion.is_always_wrong or conversion.risks or conversion.without_habits().risks:
                used = used_by_torch(module, site.node, site.scopes)
                found[id(site.node)] = site.node, replace(conversion, back_in_torch=used)
                break
    # `(tensor - array) < other` is not reached if its first operand raises.
    return [each for node, each in found.values() if not any(id(part) in found for part in ast.iter_child_nodes(node))]


def _conversions(site: OperationSite, seen: Observation) -> Iterator[Mixture]:
    for kind, node, value in _mixed(site, seen):
        facts = facts_of(value)
        if facts is None or facts.certainty == "possible" or not facts.is_sole:
            continue
        if kind in ("index", "equality"):  # these two depend on the device alone
            facts = facts._replace(requires_grad=False, param_taint=False, dtype=None, layout=None, bit=None)
            if kind == "index" and isinstance(value, v.Tensor) and (value.is_number or value.is_item):
                continue
        elif kind == "division":
            facts = facts._replace(bit=None)
        more = {"kind": kind, "keeps_value": kind in ("index", "put into array")}
        yield made_of(Mixture, site, spelt(site.node), node, facts, seen, value, **more)


def _mixed(site: OperationSite, seen: Observation) -> Iterator[_Mixed]:
    """The tensors of an operation on an array; those of an index come first, as they do at run time."""
    operands = operands_of(site.node, site.statement)
    assert operands is not None
    left, (*others, right) = seen.receiver, seen.arguments.positional
    if operands.key is not None:
        index = right if operands.right is None else others[0]
        if v.is_text(index):
            return  # arrays and tensors have no string index: it is a table or a dict
        dimensions = dimensions_of(left)
        if dimensions is not None:
            yield from _of_index(operands.key, index)
        if operands.right is None:
            return
        if dimensions is not None and (isinstance(operands.key, ast.List) or takes_array(index)):
            yield _Mixed("put into array", operands.right, right)
        elif dimensions_of(right) is not None and _is_tensor(left):
            yield _Mixed("put into tensor", operands.left, left)
        return
    assert operands.right is not None
    if dimensions_of(left) is not None and _is_tensor(right):
        yield _Mixed(mixture_of(site.node, is_array_first=True), operands.right, right)
    elif dimensions_of(right) is not None and _is_tensor(left):
        yield _Mixed(mixture_of(site.node, is_array_first=False), operands.left, left)


def _is_tensor(value: v.Value) -> bool:
    """True for a tensor, or an unknown value that a module made or that was moved."""
    return isinstance(value, v.Tensor) or (
        isinstance(value, v.Unknown) and (bool(value.device_taint) or value.param_taint)
    )


def mixture_of(node: ast.expr | ast.AugAssign, *, is_array_first: bool) -> MixtureKind:
    if isinstance(node, ast.Compare):
        if isinstance(node.ops[0], ORDER):
            return "comparison"
        return "equality" if isinstance(node.ops[0], ast.Eq) else "difference"
    if not is_array_first:
        return "tensor first"
    assert isinstance(node, (ast.BinOp, ast.AugAssign))
    return "division" if isinstance(node.op, ast.Div) else "array first"


def _of_index(node: ast.expr, index: v.Value) -> Iterator[_Mixed]:
    """The tensors in an index, without those without dimensions, which Python converts to a number."""
    values = (index.items or ()) if isinstance(index, v.Sequence) and isinstance(node, ast.Tuple) else (index,)
    for part, value in zip(indices_of(node), values, strict=False):
        if isinstance(value, v.Tensor) and value.dimensions != 0:
            yield _Mixed("index", part, value)


def takes_array(index: v.Value) -> bool:
    """True if an assigned value is surely converted to an array: not for a single element, which takes
    `float(tensor)`."""
    parts = index.items if isinstance(index, v.Sequence) and index.items else (index,)
    return any((isinstance(part, v.NonTensor) and part.what == "slice") or _selects(part) for part in parts)


def _selects(part: v.Value) -> bool:
    """True if a part of an index selects several elements: an array, a mask, `...`."""
    if isinstance(part, (v.Sequence, v.Tensor)):
        return not isinstance(part, v.Tensor) or not (part.is_number or part.is_item)
    if isinstance(part, v.Constant):
        return part.value is Ellipsis or part.value is None
    return (dimensions_of(part) or 0) > 0
