"""Findings and errors as JSON knows them, and back."""

from collections.abc import Sequence
from typing import Any

from tonumpy.findings import Cell, Edit, Finding, Fix, Ground, Position, SourceError


def pack_finding(finding: Finding) -> list[Any]:
    """The fields of a finding but the last, a run's observations, which no check has."""
    return list(finding[:-1])


def unpack_finding(packed: Sequence[Any]) -> Finding:
    filename, code, message, start, end, fix, confidence, evidence, cell, brief = packed
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
        brief,
    )


def pack_error(error: SourceError) -> list[Any]:
    return [error.filename, error.reason, error.position, error.cell]


def unpack_error(packed: Sequence[Any]) -> SourceError:
    filename, reason, position, cell = packed
    return SourceError(filename, reason, None if position is None else Position(*position), cell)


def _edit(packed: Sequence[Any]) -> Edit:
    start, end, content = packed
    return Edit(Position(*start), Position(*end), content)
