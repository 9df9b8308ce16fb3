"""Finds the call, operator or index of a source that was evaluated at a place that a run tells."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.detectors.completeness import has_complete_chain
from tonumpy.text.candidates import (
    Candidate,
    OperationSite,
    Site,
    find_calls,
    find_candidates,
    find_operations,
    is_in_row,
)

if TYPE_CHECKING:
    from tonumpy.observed.sighting import Spot
    from tonumpy.text.source import Source

_OPERATIONS = (ast.BinOp, ast.Compare, ast.Subscript, ast.AugAssign)


class Sites:
    """The sites of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def candidates(self) -> list[Candidate]:
        return find_candidates(self._source)

    def candidate(self, spot: Spot) -> Candidate | None:
        """The call of `.numpy()` there; where only the row is known, the one of several that is not complete."""
        placed = [each for each in self.candidates if is_at(each.call, spot)]
        if placed:
            return placed[0]
        near = self.in_row(spot.row)
        if spot.column is not None:
            near = [each for each in near if each.is_unbound]  # `list(map(torch.Tensor.numpy, xs))` runs in `list`
        elif len(near) > 1:
            near = [each for each in near if not has_complete_chain(each)]
        return near[0] if len(near) == 1 else None

    def in_row(self, row: int) -> list[Candidate]:
        """All calls of `.numpy()` there."""
        return [each for each in self.candidates if is_in_row(each.call, row)]

    def operation(self, spot: Spot) -> Site | OperationSite | None:
        """The call of a function there, or the operator or index; None where only the row is known, and several are."""
        calls = find_calls(self._source, [spot.row], lambda call: is_near(call, spot))
        if len(calls) == 1:
            return calls[0]
        if calls:
            return None
        found = find_operations(self._source, [spot.row], _OPERATIONS, lambda node: is_near(node, spot))
        return found[0] if len(found) == 1 else None


def is_near(node: ast.expr | ast.stmt, spot: Spot) -> bool:
    return is_at(node, spot) if spot.column is not None else is_in_row(node, spot.row)


def is_at(node: ast.expr | ast.stmt, spot: Spot) -> bool:
    """The call of a method in a chain over several lines begins for Python at the method's name."""
    if spot.column is None or (node.end_lineno, node.end_col_offset) != (spot.end_row, spot.end_column):
        return False
    if (node.lineno, node.col_offset) == (spot.row, spot.column):
        return True
    function = node.func if isinstance(node, ast.Call) else node
    if not isinstance(function, ast.Attribute):
        return False
    name = function.end_lineno, (function.end_col_offset or 0) - len(function.attr.encode())
    return name == (spot.row, spot.column)
