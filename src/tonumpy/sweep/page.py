"""Writes the findings of a data set as one HTML page over all repositories, as `check --output-format html` does."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from tonumpy.boundary.output import write_own
from tonumpy.config import ConfigError
from tonumpy.findings import Edit, Finding, Fix, Ground, Position, SourceError
from tonumpy.formats import format_names
from tonumpy.report import Report, format_named

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from tonumpy.sweep.store import Kept

_LENGTH = 12  # digits of a commit that are shown
_DEEPEST = 200  # folders in one another


def check_that_there_is_a_page() -> None:
    if "html" not in format_names():
        raise ConfigError("--html: this version of tonumpy has no such report")


def page(kept: Iterable[Kept]) -> str:
    """The page reads the files for the lines around a finding; what is kept of those is put where it looks."""
    findings, errors = [], []
    texts: dict[str, dict[int, str]] = {}
    for each in kept:
        name = f"{each.repository.strip('/')}@{each.commit[:_LENGTH]}/{each.said['filename']}"
        if each.is_error:
            has_place = each.said["name"] != "io-error"
            errors.append(
                SourceError(name, each.said["message"], _position(each.said["location"]) if has_place else None)
            )
            continue
        findings.append(_finding(name, each.said))
        lines = (each.context or "").split("\n")
        texts.setdefault(name, {}).update(enumerate(lines, each.context_row or 1))
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, lines_by_row in texts.items():
                _write(name, lines_by_row)
            return format_named("html").render(Report(findings, errors), colour=False)
        finally:
            os.chdir(before)


def _write(name: str, lines: dict[int, str]) -> None:
    """A file that holds these lines in their rows. What cannot be written is shown without its lines."""
    parts = name.split("/")
    if os.path.isabs(name) or ".." in parts or len(parts) > _DEEPEST:
        return
    try:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        text = "\n".join(lines.get(row, "") for row in range(1, max(lines) + 1))
        write_own(name, text.encode("utf-8-sig"))
    except (OSError, ValueError):
        return


def _finding(name: str, said: dict[str, Any]) -> Finding:
    fix = said["fix"] and Fix(
        said["fix"]["applicability"],
        said["fix"]["message"],
        tuple(
            Edit(_position(edit["location"]), _position(edit["end_location"]), edit["content"])
            for edit in said["fix"]["edits"]
        ),
    )
    start, end = _position(said["location"]), _position(said["end_location"])
    grounds = tuple(
        Ground(each["kind"], each["about"], each["id"], each["message"], each["filename"], _row(each["location"]))
        for each in said.get("evidence") or ()
    )
    return Finding(name, said["code"], said["message"], start, end, fix, said.get("confidence", "medium"), grounds)


def _row(place: dict[str, int] | None) -> int:
    return 0 if place is None else place["row"]


def _position(place: dict[str, int]) -> Position:
    return Position(place["row"], place["column"])
