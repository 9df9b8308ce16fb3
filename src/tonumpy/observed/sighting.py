"""Sums up the events of a run at one place of a file, and finds the node that was evaluated there."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from tonumpy.detectors.completeness import has_complete_chain
from tonumpy.findings import Observed
from tonumpy.text.candidates import (
    Candidate,
    OperationSite,
    Site,
    find_calls,
    find_candidates,
    find_operations,
    is_in_row,
)
from tonumpy.text.source import Source

What = Literal[
    "conversion", "shared write", "lost gradient", "mixed devices", "unfinished copy", "taken for values", "no mask"
]

Held = tuple[tuple[str, str], ...]  # names of a tensor, or of a list or dict with it, each with the kind of holder


_LAYOUTS = {"torch._mkldnn": "mkldnn", "torch.jagged": "nested"}  # all others are sparse


class Spot(NamedTuple):
    """A range of a source: rows from 1, columns in UTF-8 bytes from 0, as in `ast`. On Python 3.10 only the row is
    known, the others are None."""

    row: int
    end_row: int | None = None
    column: int | None = None
    end_column: int | None = None


def together(several: Sequence[Observed]) -> Observed:
    """Merge observations; each fact is that of the first one that was refused for it."""

    def first(reason: str) -> Observed:
        return next((each for each in several if reason in each.reasons), several[0])

    return several[0]._replace(
        device=first("device").device,
        dtype=first("dtype").dtype,
        layout=first("layout").layout,
        requires_grad=any(each.requires_grad for each in several),
        times=sum(each.times for each in several),
        reasons=tuple(dict.fromkeys(reason for each in several for reason in each.reasons)),
    )


class Sighting(NamedTuple):
    """All events of one kind at one spot. `is_method`: the code there itself called `.numpy()`. `bit`: the refused bit.

    `is_refused`: at least once; then `observed` sums up those times, and `passed` the others. `held` has the names of
    each distinct tensor. `is_handled`: the user's own code handled or expected every refusal. `about` describes both
    tensors of a mix, the place of an unfinished copy, or how a tensor is taken for values.
    """

    spot: Spot
    what: What
    is_method: bool
    is_refused: bool
    bit: str | None
    observed: Observed
    held: tuple[Held, ...] = ()
    passed: Observed | None = None
    is_handled: bool = False
    about: str = ""

    @property
    def is_fault(self) -> bool:
        """True unless nothing was wrong, or the user's own code handles it."""
        return not self.is_handled and (self.is_refused or self.observed.is_fragile or self.what != "conversion")

    @property
    def facts(self) -> dict[str, Any]:
        """The fields that every kind of conversion has, by name."""
        observed, of_grad = self.observed, self.has("grad")
        return {
            "certainty": "tensor",
            "on_cpu": not self.has("device") and not self.has("mixed"),
            "requires_grad": of_grad or observed.is_fragile,
            "grad_mode": True if of_grad else None if observed.is_fragile else False,
            "dtype": observed.dtype.removeprefix("torch.") if self.has("dtype") else None,
            "layout": _LAYOUTS.get(observed.layout, "sparse") if self.has("layout") else None,
            "bit": self.bit,
        }

    def has(self, reason: str) -> bool:
        return reason in self.observed.reasons


OF_DEVICES = ("mixed devices", "unfinished copy", "taken for values", "no mask")  # they are no conversions


_OPERATIONS = (ast.BinOp, ast.Compare, ast.Subscript, ast.AugAssign)


class Sites:
    """Looks up the sites of one source by spot."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def candidates(self) -> list[Candidate]:
        return find_candidates(self._source)

    def candidate(self, spot: Spot) -> Candidate | None:
        """The call of `.numpy()` at a spot; if only the row is known, the single one there with an incomplete chain."""
        placed = [each for each in self.candidates if is_at(each.call, spot)]
        if placed:
            return placed[0]
        near = [each for each in self.candidates if is_in_row(each.call, spot.row)]
        if spot.column is not None:
            near = [each for each in near if each.is_unbound]  # `list(map(torch.Tensor.numpy, xs))` runs in `list`
        elif len(near) > 1:
            near = [each for each in near if not has_complete_chain(each)]
        return near[0] if len(near) == 1 else None

    def operation(self, spot: Spot) -> Site | OperationSite | None:
        """The call, operator or index at a spot; None if only the row is known and there are several."""
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
    """True if a node has this range. Python lets a method call in a chain over several lines begin at its name."""
    if spot.column is None or (node.end_lineno, node.end_col_offset) != (spot.end_row, spot.end_column):
        return False
    if (node.lineno, node.col_offset) == (spot.row, spot.column):
        return True
    function = node.func if isinstance(node, ast.Call) else node
    if not isinstance(function, ast.Attribute):
        return False
    name = function.end_lineno, (function.end_col_offset or 0) - len(function.attr.encode())
    return name == (spot.row, spot.column)
