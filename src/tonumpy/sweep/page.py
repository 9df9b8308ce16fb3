"""Writes the findings of a data set as one HTML page over all repositories, as `check --output-format html` does."""

from collections.abc import Iterable
from typing import Any

from tonumpy.findings import Edit, Finding, Fix, Ground, Position, SourceError
from tonumpy.report import Report, html
from tonumpy.sweep.messages import Entry, Target

_LENGTH = 12  # shown digits of a commit


def page(kept: Iterable[tuple[Target, str, Entry]]) -> str:
    """The page for entries at commits; it shows the lines around each finding, which the data set contains."""
    findings, errors = [], []
    texts: dict[str, dict[int, str]] = {}
    for target, commit, entry in kept:
        said = entry.said
        name = f"{target.repository.strip('/')}@{commit[:_LENGTH]}/{said['filename']}"
        if said["url"] is None:  # there is no rule
            place = None if said["name"] == "io-error" else Position(**said["location"])
            errors.append(SourceError(name, said["message"], place))
        else:
            findings.append(_finding(name, said))
            texts.setdefault(name, {}).update(enumerate((entry.context or "").split("\n"), entry.context_row or 1))

    def read(name: str) -> bytes:
        lines = texts[name]
        return "\n".join(lines.get(row, "") for row in range(1, max(lines) + 1)).encode("utf-8-sig")

    return html.render(Report(findings, errors, read=read), colour=False)


def _finding(name: str, said: dict[str, Any]) -> Finding:
    fix = said["fix"]
    fix = fix and Fix(fix["applicability"], fix["message"], tuple(map(_edit, fix["edits"])))
    start, end = Position(**said["location"]), Position(**said["end_location"])
    grounds = tuple(map(_ground, said["evidence"]))
    return Finding(name, said["code"], said["message"], start, end, fix, said["confidence"], grounds)


def _ground(said: dict[str, Any]) -> Ground:
    row = said["location"]["row"] if said["location"] else 0
    return Ground(said["kind"], said["about"], said["id"], said["message"], said["filename"], row)


def _edit(edit: dict[str, Any]) -> Edit:
    return Edit(Position(**edit["location"]), Position(**edit["end_location"]), edit["content"])
