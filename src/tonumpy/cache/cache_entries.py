"""What is kept of one file, as JSON knows it: findings, and what they were found by; and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.findings import Cell, Edit, Finding, Fix, Ground, Position, SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tonumpy.engine.names.lookups import Lookup, Stamp


class Kept(NamedTuple):
    """The findings of a file and the errors of those of its cells that were not looked at.

    `lookups` are None for a file that holds nothing to be judged; it has neither digest nor findings then.
    """

    stamp: Stamp | None
    digest: str
    lookups: tuple[Lookup, ...] | None
    findings: tuple[Finding, ...] = ()
    skipped: tuple[SourceError, ...] = ()


def packed_finding(finding: Finding) -> list[Any]:
    """Without the name of the file, by which it is kept, and what a run has seen, which no check finds."""
    return list(finding[1:-1])


def unpacked_finding(packed: Sequence[Any], filename: str) -> Finding:
    code, message, start, end, fix, confidence, evidence, cell = packed
    return Finding(
        filename,
        code,
        message,
        Position(*start),
        Position(*end),
        None if fix is None else Fix(fix[0], fix[1], tuple(map(_edit, fix[2]))),
        confidence,
        tuple(Ground(*each) for each in evidence),
        None if cell is None else Cell(cell[0], Position(*cell[1]), Position(*cell[2])),
    )


def packed_error(error: SourceError) -> list[Any]:
    return [error.reason, error.position, error.cell]


def unpacked_error(packed: Sequence[Any], filename: str) -> SourceError:
    reason, position, cell = packed
    return SourceError(filename, reason, None if position is None else Position(*position), cell)


def _edit(packed: Sequence[Any]) -> Edit:
    start, end, content = packed
    return Edit(Position(*start), Position(*end), content)
