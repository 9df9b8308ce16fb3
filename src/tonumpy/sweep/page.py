"""Writes the findings of a data set as one HTML page over all repositories, as `check --output-format html` does."""

from collections.abc import Iterable
from typing import Any

from tonumpy.findings import Edit, Finding, Fix, Ground, Position, SourceError
from tonumpy.report import Report, html
from tonumpy.sweep.parquet_store import Kept

_LENGTH = 12  # digits of a commit that are shown


def page(kept: Iterable[Kept]) -> str:
    """The page shows the lines around a finding; these are in the data set, each in its row."""
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

    def read(name: str) -> bytes:
        lines = texts[name]
        return "\n".join(lines.get(row, "") for row in range(1, max(lines) + 1)).encode("utf-8-sig")

    return html.render(Report(findings, errors, read=read), colour=False)


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
        for each in said["evidence"]
    )
    return Finding(name, said["code"], said["message"], start, end, fix, said["confidence"], grounds)


def _row(place: dict[str, int] | None) -> int:
    return 0 if place is None else place["row"]


def _position(place: dict[str, int]) -> Position:
    return Position(place["row"], place["column"])
