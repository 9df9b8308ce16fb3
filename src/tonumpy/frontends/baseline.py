"""The findings that an old repository lives with: written to a file once, and left out of the reports from then on.

A finding is known by its path, its code and the text of its line, not by its row, which changes with every line above.
"""

from __future__ import annotations

import json
import os

from tonumpy.config import ConfigError
from tonumpy.frontends.disk import write_report
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tonumpy.findings import Finding
    from tonumpy.report import Report

DEFAULT = "tonumpy-baseline.json"
_VERSION = 1


class Key(NamedTuple):
    """What a finding is known by; the path is relative to the folder of the baseline, with slashes."""

    path: str
    code: str
    line: str


class Kept(NamedTuple):
    """A report without what the baseline has, how much that is, and what the baseline has for nothing."""

    report: Report
    hidden: int
    stale: list[Key]


def write(path: str, report: Report) -> int:
    """Returns the number of findings."""
    counts: dict[Key, int] = {}
    for finding in report.findings:
        key = _key(path, finding, report)
        counts[key] = counts.get(key, 0) + 1
    entries = [{**key._asdict(), "count": count} for key, count in sorted(counts.items())]
    write_report(path, json.dumps({"version": _VERSION, "findings": entries}, indent=2) + "\n")
    return sum(counts.values())


def without(path: str, report: Report, looked_at: Iterable[str]) -> Kept:
    """An entry is stale if its file was looked at, or is not there any more, and has fewer such findings."""
    left = _read(path)
    kept = []
    for finding in report.findings:
        key = _key(path, finding, report)
        if left.get(key, 0) > 0:
            left[key] -= 1
        else:
            kept.append(finding)
    folder = os.path.dirname(os.path.abspath(path))
    seen = {_relative(path, each) for each in looked_at}
    stale = [
        key
        for key, count in sorted(left.items())
        if count and (key.path in seen or not os.path.exists(os.path.join(folder, key.path)))
    ]
    return Kept(report._replace(findings=kept), len(report.findings) - len(kept), stale)


def _key(path: str, finding: Finding, report: Report) -> Key:
    source = report.source_of(finding)
    line = source.line(finding.start.row).strip() if source is not None else ""
    return Key(_relative(path, finding.filename), finding.code, line)


def _relative(path: str, filename: str) -> str:
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.relpath(os.path.abspath(filename), folder).replace(os.sep, "/")


def _read(path: str) -> dict[Key, int]:
    try:
        document = json.loads(read_regular(path))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; `tonumpy baseline write` makes it") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not valid JSON: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply") from error
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        raise ConfigError(f"{path}: no baseline of version {_VERSION}")
    counts: dict[Key, int] = {}
    entries = document.get("findings")
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: findings: expected a list")
    for number, entry in enumerate(entries):
        try:
            key = Key(*(_text(entry[field]) for field in Key._fields))
            counts[key] = counts.get(key, 0) + int(entry["count"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            reason = f"has no `{error.args[0]}`" if isinstance(error, KeyError) else str(error)
            raise ConfigError(f"{path}: findings[{number}]: {reason}") from error
    return counts


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, found {value!r}")
    return value
