"""The findings that an old repository lives with: written to a file once, and left out of the reports from then on.

A finding is known by its path, its code and the text of its line, not by its row, which changes with every line above.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.config import ConfigError
from tonumpy.findings import CONFIDENCES
from tonumpy.frontends.disk import refuse_place, write_text
from tonumpy.own_files import is_own, read_own
from tonumpy.rules import all_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tonumpy.config import Settings
    from tonumpy.findings import Finding, Sureness
    from tonumpy.report import Report

DEFAULT = "tonumpy-baseline.json"
_VERSION = 1


class Key(NamedTuple):
    """The identity of a finding; the path is relative to the folder of the baseline, with slashes."""

    path: str
    code: str
    line: str


class Kept(NamedTuple):
    """A report without what the baseline has, how much that is, and what the baseline has for nothing."""

    report: Report
    hidden: int
    stale: list[Key]


class Scope(NamedTuple):
    """The extent of a run: these files, by the rules that their settings select, down to the confidence asked for.

    `named` are the paths that it was given.
    """

    named: Sequence[str]
    files: Sequence[str]
    settings_of: Callable[[str], Settings]


# How often a baseline has a finding, by its confidence.
_Counts = dict[tuple[Key, "Sureness"], int]


def write(path: str, report: Report, scope: Scope) -> int:
    """Returns the number of findings in it. What there was of what the run has not judged stays."""
    refuse_place(path, "baseline")
    judged = _Judged(path, scope)
    before = _read(path) if os.path.exists(path) else {}
    counts: _Counts = {of: count for of, count in before.items() if not judged(*of)}
    for finding in report.findings:
        of = _key(path, finding, report), finding.confidence
        counts[of] = counts.get(of, 0) + 1
    entries = [
        {**key._asdict(), "confidence": confidence, "count": count}
        for (key, confidence), count in sorted(counts.items())
    ]
    text = json.dumps({"version": _VERSION, "findings": entries}, indent=2) + "\n"
    write_text(path, text, kind="baseline", replaces=lambda data: is_own(data, _parsed))
    return sum(counts.values())


def words_of_written(path: str, count: int, *, is_set: bool) -> str:
    """What has been written, and the next step; `is_set`: the settings name the file."""
    command = "tonumpy check" if is_set else f"tonumpy check --baseline {path}"
    return f"Wrote {path} ({count} finding{'s' * (count != 1)}). Next: `{command}` reports only new ones.\n"


def without(path: str, report: Report, scope: Scope) -> Kept:
    """An entry is stale if the run would have found it, and has found fewer such findings."""
    judged = _Judged(path, scope)
    left = dict[Key, int]()
    unseen = dict[Key, int]()
    for (key, confidence), count in _read(path).items():
        left[key] = left.get(key, 0) + count
        unseen[key] = unseen.get(key, 0) + (0 if judged(key, confidence) else count)
    kept = []
    for finding in report.findings:
        key = _key(path, finding, report)
        if left.get(key, 0) > 0:
            left[key] -= 1
        else:
            kept.append(finding)
    stale = [key for key, count in sorted(left.items()) if count > unseen[key]]
    return Kept(report._replace(findings=kept), len(report.findings) - len(kept), stale)


class _Judged:
    """Tells for a baseline entry if a run would have found it."""

    def __init__(self, path: str, scope: Scope) -> None:
        self._folder = os.path.dirname(os.path.abspath(path))
        self._scope = scope
        self._files = {_relative(path, each) for each in scope.files}
        self._named = [os.path.abspath(each) for each in scope.named]
        self._rules = {rule.code: rule for rule in all_rules()}

    def __call__(self, key: Key, confidence: Sureness) -> bool:
        file = os.path.normpath(os.path.join(self._folder, key.path))
        if key.path not in self._files and (os.path.exists(file) or not self._is_named(file)):
            return False
        settings, rule = self._scope.settings_of(file), self._rules.get(key.code)
        if rule is not None and not settings.selects(rule):
            return False
        return CONFIDENCES.index(confidence) <= CONFIDENCES.index(settings.confidence)

    def _is_named(self, file: str) -> bool:
        return any(file == each or file.startswith(os.path.join(each, "")) for each in self._named)


def _key(path: str, finding: Finding, report: Report) -> Key:
    source = report.source_of(finding)
    line = source.line(finding.start.row).strip() if source is not None else ""
    return Key(_relative(path, finding.filename), finding.code, line)


def _relative(path: str, filename: str) -> str:
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.relpath(os.path.abspath(filename), folder).replace(os.sep, "/")


def _read(path: str) -> _Counts:
    return read_own(path, _parsed, "; `tonumpy baseline write` makes it")


def _parsed(path: str, data: bytes) -> _Counts:
    counts: _Counts = {}
    try:
        document = json.loads(data)
        if document["version"] != _VERSION:
            raise ConfigError(f"{path}: no baseline of version {_VERSION}")
        for entry in document["findings"]:
            of = Key(*(str(entry[field]) for field in Key._fields)), _confidence(entry.get("confidence"))
            counts[of] = counts.get(of, 0) + int(entry["count"])
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{path}: no baseline that `tonumpy baseline write` has made: {error!r}") from error
    return counts


def _confidence(value: object) -> Sureness:
    return next((each for each in CONFIDENCES if each == value), "high")  # a former version wrote none
