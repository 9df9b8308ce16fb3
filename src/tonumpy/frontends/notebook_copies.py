"""Checks a file; what is found in a notebook holds for all its copies, and is worked out only once.

Collections hold the same notebook in many folders, one for each language or version of the documents.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tonumpy import pipeline
from tonumpy.engine.names.module_use import folder_of
from tonumpy.text.recursion import cuts

if TYPE_CHECKING:
    from tonumpy.config import Settings
    from tonumpy.engine.names.project import Project
    from tonumpy.findings import Finding
    from tonumpy.text.source import Source


class _Known(NamedTuple):
    """The findings of a notebook that read no other file, how many more are hidden, and the modules that it looked for
    in vain."""

    filename: str
    findings: list[Finding]
    hidden: int
    missed: frozenset[str]


class Copies:
    """The findings so far in the notebooks of a run."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[tuple[object, ...], list[_Known]] = {}

    def check(self, source: Source, settings: Settings) -> tuple[list[Finding], int]:
        """The findings of `pipeline.check_and_count`, and its count."""
        project = self._project
        if source.cell_rows is None:
            return pipeline.check_and_count(source, settings, project)
        project.begin_file()  # what the file before has followed does not count for what this one looks for
        folder = folder_of(source.filename)
        key = (source.text, source.cell_rows, settings, project.is_package(folder))
        among = self._known.setdefault(key, [])
        for known in among:
            if all(project.find(name, folder) is None for name in known.missed):
                found = [_in_file(finding, known.filename, source.filename) for finding in known.findings]
                return found, known.hidden
        before = cuts()
        findings, hidden = pipeline.check_and_count(source, settings, project)
        missed = project.looked_for_in_vain
        if missed is not None and cuts() == before and not source.skipped and not _is_named(source.filename, findings):
            among.append(_Known(source.filename, findings, hidden, missed))
        return findings, hidden


def _is_named(filename: str, findings: list[Finding]) -> bool:
    """True if what is said of findings names the file, other than as a place."""
    name = os.path.basename(filename)
    return any(name in text for each in findings for text in (each.message, *(told.message for told in each.evidence)))


def _in_file(finding: Finding, of: str, filename: str) -> Finding:
    """The finding of a file, as that of its copy."""
    grounds = (each._replace(filename=filename) if each.filename == of else each for each in finding.evidence)
    return finding._replace(filename=filename, evidence=tuple(grounds))
