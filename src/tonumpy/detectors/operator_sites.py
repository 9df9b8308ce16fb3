"""Finds the operators, indices and assignments in which an array and a tensor may meet.
The spelling rules out most of them: one side must be a name that is assigned an array, or a call of NumPy.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from tonumpy.detectors.nodes import Arrays
from tonumpy.detectors.possible_tensors import PossibleTensors
from tonumpy.detectors.shapes import masked_by, may_be_a_tensor_or_mask
from tonumpy.engine.names.bindings import parameter_names, root_name
from tonumpy.text import candidates
from tonumpy.text.candidates import OperationSite
from tonumpy.text.names import last_name
from tonumpy.text.prefilter import CANDIDATE
from tonumpy.text.recursion import note_cut
from tonumpy.text.source import Source
from tonumpy.text.syntax import FUNCTIONS, indices_of, walk

ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_COMPARISONS = (*ORDER, ast.Eq, ast.NotEq)
# Methods and attributes of arrays that mostly return numbers.
_OF_NUMBERS = frozenset("all any dtype item max mean min ndim shape size std sum".split())
_KINDS = (ast.BinOp, ast.Compare, ast.Subscript, ast.AugAssign)


class Operands(NamedTuple):
    """The operands of `left + right`, `left[key]` or `left[key] = right`; None for a missing one."""

    left: ast.expr
    right: ast.expr | None
    key: ast.expr | None = None


def find_operations(source: Source, risks: PossibleTensors) -> list[OperationSite]:
    """The operations in which an array may meet a tensor: any tensor, or one at risk if others are accepted."""
    arrays = risks.nodes.arrays
    if not any(arrays) and CANDIDATE not in source.text:
        return []
    wanted = {
        id(node): node.lineno for node in risks.nodes.of(*_KINDS) if _is_of_two(node) and _has_array(node, arrays)
    }
    rows = sorted(set(wanted.values()))
    sites = candidates.find_operations(source, rows, _KINDS, lambda node: id(node) in wanted) if rows else []
    return [site for site in sites if _may_mix(site, arrays, risks)]


def _has_array(node: Any, arrays: Arrays) -> bool:  # noqa: ANN401 -- of one of the kinds
    """True if an operand is spelt like an array; always True for a store, whose value is in its statement."""
    match node:
        case ast.BinOp(left, _, right) | ast.AugAssign(left, _, right) | ast.Compare(left, _, [right]):
            return _reads_as_array(left, arrays) or _reads_as_array(right, arrays)
        case ast.Subscript(owner, _, ast.Load()):
            return _reads_as_array(owner, arrays)
    return True


def _may_always_raise(site: OperationSite) -> bool:
    """True if an array and a tensor raise here in one order at least, for every tensor."""
    node = site.node
    if isinstance(node, ast.Compare):
        return not isinstance(node.ops[0], ast.Eq)
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return not isinstance(node.op, ast.Div)
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)


def operands_of(node: ast.expr | ast.AugAssign, statement: ast.stmt) -> Operands | None:
    """The operands of a node; None if it is no binary operation."""
    if isinstance(node, ast.BinOp):
        return Operands(node.left, node.right)
    if isinstance(node, ast.AugAssign):
        return Operands(node.target, node.value)
    if isinstance(node, ast.Compare):
        return Operands(node.left, node.comparators[0])
    assert isinstance(node, ast.Subscript)
    if isinstance(node.ctx, ast.Load):
        return Operands(node.value, None, node.slice)
    is_target = isinstance(statement, ast.Assign) and node in statement.targets
    return Operands(node.value, statement.value, node.slice) if is_target else None  # type: ignore[attr-defined]


def _is_of_two(node: ast.AST) -> bool:
    return not isinstance(node, ast.Compare) or (len(node.ops) == 1 and isinstance(node.ops[0], _COMPARISONS))


def _may_mix(site: OperationSite, arrays: Arrays, risks: PossibleTensors) -> bool:
    """True if one side is spelt like an array, and the other may be a tensor."""
    operands = operands_of(site.node, site.statement)
    if operands is None:
        return False
    left, right, key = operands
    pairs = [] if right is None else [(left, right), (right, left)]
    pairs += [] if key is None else [(left, part) for part in indices_of(key)]
    given = partial(_is_array_here, site.scopes[-1], arrays, risks)
    try:
        for one, other in pairs:
            if not _reads_as_array(one, arrays, given) or not may_be_a_tensor_or_mask(other):
                continue
            if (root := root_name(one)) is not None and root == root_name(masked_by(other)):
                continue  # `mask[mask > 0]`
            if risks.reaches(other, site.scopes, at_risk=not _may_always_raise(site)):
                return True
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
    return False


def _is_array_here(scope: ast.AST, arrays: Arrays, risks: PossibleTensors, name: str) -> bool:
    """False for a name that is an array in other scopes, but is assigned nothing of NumPy's in this one."""
    if isinstance(scope, FUNCTIONS) and name in parameter_names(scope.args):
        return True
    given, words = risks.given_in(name, scope), arrays.names | arrays.modules
    return not given or any(
        (isinstance(part, ast.Name) and part.id in words and part.id != name)
        or (isinstance(part, ast.Attribute) and (part.attr == "numpy" or part.attr in arrays.attributes))
        for value in given
        for part in walk(value)
    )


def _reads_as_array(node: Any, arrays: Arrays, is_given: Callable[[str], bool] = bool) -> bool:  # noqa: ANN401
    is_made = False  # the result of a call: `np.pi` is a number
    while True:
        kind = node.__class__  # as isinstance, which is a call for each
        if kind is ast.Name:
            return (is_made and node.id in arrays.modules) or (node.id in arrays.names and is_given(node.id))
        if kind is ast.Call:
            name = last_name(node.func)
            if name == "numpy":
                return True
            if name in _OF_NUMBERS:
                return False
            is_made, node = True, node.func
        elif kind is ast.Attribute:
            if node.attr in arrays.attributes:
                return True
            if node.attr in _OF_NUMBERS:
                return False
            node = node.value
        elif kind is ast.Compare or kind is ast.BinOp:
            if kind is ast.BinOp and _reads_as_array(node.right, arrays, is_given):
                return True
            node = node.left
        elif kind is ast.Subscript:
            node = node.value
        elif kind is ast.UnaryOp:
            node = node.operand
        else:
            return False
