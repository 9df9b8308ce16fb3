"""Writes a baseline, a file of known findings, and leaves these out of later reports.

A finding is identified by path, code and text of its line, not by its row, which changes with every line above.
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tonumpy.cli.disk import write_text
from tonumpy.config import ConfigError, read_file
from tonumpy.findings import Finding
from tonumpy.report import Report

DEFAULT = "tonumpy-baseline.json"
_VERSION = 1


class Key(NamedTuple):
    """The identity of a finding; the path is relative to the baseline's folder, with slashes."""

    path: str
    code: str
    line: str


def write(path: str, report: Report, looked_at: Sequence[str]) -> int:
    """Write the findings and return how many the file holds; entries of existing files not looked at stay."""
    folder = os.path.dirname(os.path.abspath(path))
    judged = {_relative(path, each) for each in looked_at}
    before = _read(path) if os.path.exists(path) else Counter[Key]()
    counts = Counter(_key(path, finding, report) for finding in report.findings)
    for key, count in before.items():
        if key.path not in judged and os.path.exists(os.path.join(folder, key.path)):
            counts[key] += count
    entries = [{**key._asdict(), "count": count} for key, count in sorted(counts.items())]
    text = json.dumps({"version": _VERSION, "findings": entries}, indent=2) + "\n"
    write_text(path, text, kind="baseline")
    return sum(counts.values())


def words_of_written(path: str, count: int, *, is_set: bool) -> str:
    """Say what was written and the next step; `is_set`: the settings name the file."""
    command = "tonumpy check" if is_set else f"tonumpy check --baseline {path}"
    return f"Wrote {path} ({count} finding{'s' * (count != 1)}). Next: `{command}` reports only new ones.\n"


def without(path: str, report: Report) -> tuple[Report, int]:
    """The report without the baseline's findings, and their number."""
    left = _read(path)
    kept = []
    for finding in report.findings:
        key = _key(path, finding, report)
        left[key] -= 1
        if left[key] < 0:
            kept.append(finding)
    return report._replace(findings=kept), len(report.findings) - len(kept)


def _key(path: str, finding: Finding, report: Report) -> Key:
    source = report.source_of(finding)
    line = source.line(finding.start.row).strip() if source is not None else ""
    return Key(_relative(path, finding.filename), finding.code, line)


def _relative(path: str, filename: str) -> str:
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.relpath(os.path.abspath(filename), folder).replace(os.sep, "/")


def _read(path: str) -> Counter[Key]:
    return _parsed(path, read_file(path, "; `tonumpy baseline write` makes it"))


def _parsed(path: str, data: bytes) -> Counter[Key]:
    counts = Counter[Key]()
    try:
        document = json.loads(data)
        if document["version"] != _VERSION:
            raise ConfigError(f"{path}: no baseline of version {_VERSION}")
        for entry in document["findings"]:
            key = Key(*(str(entry[field]) for field in Key._fields))
            counts[key] += int(entry["count"])
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{path}: no baseline that `tonumpy baseline write` has made: {error!r}") from error
    return counts
