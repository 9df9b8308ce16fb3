"""Renders the findings and errors of a run as a report: one module per format, found by its name."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.findings import SourceError
from tonumpy.text.visible import without_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from tonumpy.findings import Finding
    from tonumpy.text.notebooks import Notebook
    from tonumpy.text.source import Source

    class Format(Protocol):
        """The interface of a format module. A returned text ends with a newline or is empty.

        A format that supports `--statistics` (the number of findings per code) also defines `render_statistics`, with
        the same signature. A summary follows one with `FOR_PEOPLE = True`.
        """

        def render(self, report: Report, *, colour: bool) -> str: ...


class Report(NamedTuple):
    """The input of a format. `unsafe_allowed`: the files whose settings have `unsafe-fixes`; `shows_evidence`: show it.

    `read` returns the bytes to which a file's findings refer; None if sources cannot be read.
    """

    findings: Sequence[Finding]
    errors: Sequence[SourceError]
    unsafe_allowed: frozenset[str] = frozenset()
    shows_evidence: bool = False
    read: Callable[[str], bytes] | None = None

    def source_of(self, finding: Finding) -> Source | None:
        """The text to whose rows a finding refers, in a notebook that of the cell; None if it cannot be read, or is now
        too short for the finding."""
        if self.read is None:
            return None
        source = _source(self.read, finding.filename, finding.cell and finding.cell.number)
        if source is None or finding.end.row > len(source.line_starts):
            return None
        return source

    def document_of(self, finding: Finding) -> Source | None:
        """The text of the file; of a notebook, its JSON."""
        return None if self.read is None else _source(self.read, finding.filename)

    def is_fixable(self, finding: Finding) -> bool:
        """True if `tonumpy fix`, with these settings, repairs the finding."""
        return is_fixable(finding, unsafe=finding.filename in self.unsafe_allowed)


def error_code(error: SourceError) -> tuple[str, str]:
    """The code and the name that ruff has for the error."""
    return ("E902", "io-error") if error.position is None else ("invalid-syntax", "invalid-syntax")


def absolute(filename: str) -> str:
    return filename if filename == "-" else without_surrogates(os.path.abspath(filename))


@cache
def _source(read: Callable[[str], bytes], filename: str, cell: int | None = None) -> Source | None:
    from tonumpy.text.source import Source  # only for formats that show lines: start-up

    try:
        if cell is None:
            return Source(read(filename), filename)
        return Source.from_text(_notebook(read, filename).cell(cell), filename)
    except SourceError:
        return None


@cache
def _notebook(read: Callable[[str], bytes], filename: str) -> Notebook:
    from tonumpy.text.notebooks import Notebook  # the same: start-up

    return Notebook(read(filename), filename)


def format_named(name: str) -> Format:
    found: Format = import_module(f"{__name__}.{name.replace('-', '_')}")
    return found


def is_fixable(finding: Finding, *, unsafe: bool) -> bool:
    if finding.fix is None or not finding.fix.edits:
        return False
    return finding.fix.applicability == "safe" or (unsafe and finding.fix.applicability == "unsafe")


def count_codes(report: Report) -> list[tuple[str, int]]:
    """The codes with the numbers of their findings, most first."""
    counts: dict[str, int] = {}
    for finding in report.findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def rule_names() -> dict[str, str]:
    from tonumpy.rules import all_rules  # only for formats that name the rules: start-up

    return {rule.code: rule.name for rule in all_rules()}
