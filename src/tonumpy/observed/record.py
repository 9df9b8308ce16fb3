"""Reads and merges records of observations: the sightings of runs, as evidence for later checks.

A sighting is found again by the text of its line, also in another row; if the text has changed it is dropped.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from tonumpy.boundary.paths import real_path
from tonumpy.config import ConfigError, read_file
from tonumpy.findings import Observed, SourceError
from tonumpy.observed.sighting import OF_DEVICES, Sighting, Sites, Spot, together
from tonumpy.text.source import Source

VERSION = 1
MAX_BYTES = 50_000_000
_WHATS = ("conversion", "shared write", "lost gradient")


class Entry(NamedTuple):
    """A sighting, and the text of its first line, stripped."""

    line: str
    indentation: int
    sighting: Sighting


class Record(NamedTuple):
    """The entries by file, as a path relative to the record's folder, with `/` as the separator."""

    files: dict[str, tuple[Entry, ...]]

    def sightings(self, source: Source, folder: str) -> list[Sighting]:
        """The sightings whose lines the source still has, at their current places."""
        entries = self.files.get(relative_to(folder, source.filename), ())
        return [found for entry in entries if (found := _placed(entry, source)) is not None]

    def merged(self, seen: Iterable[tuple[Source, Iterable[Sighting]]], folder: str) -> Record:
        """The record with the sightings of a run in these sources added; entries whose lines are gone are dropped."""
        files = dict(self.files)
        for source, sightings in seen:
            together: dict[tuple[Spot, str, bool], Sighting] = {}
            evident = (found for each in sightings if (found := _evident(each)) is not None)
            for each in (*self.sightings(source, folder), *evident):
                key = each.spot, each.what, each.is_method
                together[key] = _added(together[key], each) if key in together else each
            entries = [_entry(each, source) for each in together.values()]
            name = relative_to(folder, source.filename)
            files.pop(name, None)
            if entries:
                files[name] = tuple(sorted(entries, key=lambda entry: (entry.sighting.spot.row, str(entry))))
        return Record(files)

    def as_text(self) -> str:
        files = {name: [_packed(entry) for entry in self.files[name]] for name in sorted(self.files)}
        return json.dumps({"tonumpy": "observations", "version": VERSION, "files": files}, indent=1) + "\n"


def relative_to(folder: str, filename: str) -> str:
    return os.path.relpath(real_path(filename), real_path(folder)).replace(os.sep, "/")


def folder_of(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))


def read_record(path: str) -> Record:
    """Read a record; ConfigError if there is none, or the file has another format."""
    return _parsed(path, read_file(path))


def _parsed(path: str, data: bytes) -> Record:
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: is larger than {MAX_BYTES} bytes")
    try:
        said = json.loads(data)
        if not isinstance(said, dict) or said.get("tonumpy") != "observations":
            raise ConfigError(f"{path}: is no file of observations, as `tonumpy rehearse --observations` writes it")
        if said.get("version") != VERSION:
            raise ConfigError(f"{path}: has observations of version {said.get('version')!r}, and this reads {VERSION}")
        return Record({str(name): tuple(map(_unpacked, each)) for name, each in said["files"].items()})
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read as observations: {type(error).__name__}: {error}") from error


def _placed(entry: Entry, source: Source) -> Sighting | None:
    """The sighting moved to the current row of its line; None if the line has changed, or several are equal."""
    spot = entry.sighting.spot
    rows = [spot.row] if _line(source, spot.row) == entry.line else []
    if not rows:
        rows = [row for row in source.rows_with(entry.line) if _line(source, row) == entry.line] if entry.line else []
    if len(rows) != 1:
        return None
    down, right = rows[0] - spot.row, _indentation(source, rows[0]) - entry.indentation
    moved = (None if part is None else part + by for part, by in zip(spot, (down, down, right, right), strict=True))
    return entry.sighting._replace(spot=Spot._make(moved))


def _line(source: Source, row: int) -> str:
    return source.line(row).strip() if 1 <= row <= len(source.line_starts) else ""


def _indentation(source: Source, row: int) -> int:
    line = source.line(row)
    return len(line) - len(line.lstrip())


def _entry(sighting: Sighting, source: Source) -> Entry:
    row = sighting.spot.row
    return Entry(_line(source, row), _indentation(source, row) if row <= len(source.line_starts) else 0, sighting)


def _evident(sighting: Sighting) -> Sighting | None:
    """The sighting without the refusals that the user's code handles; None if nothing is left, or it is no
    conversion."""
    if sighting.what in OF_DEVICES:
        return None
    if not sighting.is_handled:
        return sighting
    passed = sighting.passed
    return None if passed is None else sighting._replace(is_refused=False, observed=passed, is_handled=False)


def _added(before: Sighting, now: Sighting) -> Sighting:
    """Merge two sightings of one place; the facts are those of the first refusal."""
    failed = [each for each in (before, now) if each.is_refused]
    times = [each.passed for each in (before, now) if each.passed is not None]
    passed = together(times) if times else None
    if not failed:
        assert passed is not None
        return before._replace(observed=passed, passed=passed)
    held = tuple(dict.fromkeys(held for each in failed for held in each.held))
    return failed[0]._replace(observed=together([each.observed for each in failed]), passed=passed, held=held)


def _packed(entry: Entry) -> dict[str, object]:
    """The JSON of an entry, without the stack, which names files of one machine. Columns count as in `ast`."""
    sighting = entry.sighting
    return {
        **sighting.spot._asdict(),
        "line": entry.line,
        "indentation": entry.indentation,
        "what": sighting.what,
        "method": sighting.is_method,
        "refused": _packed_observed(sighting.observed) if sighting.is_refused else None,
        "bit": sighting.bit,
        "passed": _packed_observed(sighting.passed),
        "held": [[names, None] for names in sighting.held],
    }


def _packed_observed(observed: Observed | None) -> dict[str, object] | None:
    return None if observed is None else {name: value for name, value in observed._asdict().items() if name != "stack"}


def _unpacked(said: dict[str, Any]) -> Entry:
    refused, passed = _unpacked_observed(said["refused"]), _unpacked_observed(said["passed"])
    observed = refused or passed
    if observed is None or said["what"] not in _WHATS:
        raise ValueError("an entry that says nothing")
    spot = Spot(int(said["row"]), *(None if said[name] is None else int(said[name]) for name in Spot._fields[1:]))
    held = tuple(tuple((str(name), str(kind)) for name, kind in names) for names, _ in said["held"])
    bit = None if said["bit"] is None else str(said["bit"])
    sighting = Sighting(spot, said["what"], bool(said["method"]), refused is not None, bit, observed, held, passed)
    return Entry(str(said["line"]), int(said["indentation"]), sighting)


def _unpacked_observed(said: dict[str, Any] | None) -> Observed | None:
    if said is None:
        return None
    device, dtype, layout, error = (str(said[name]) for name in ("device", "dtype", "layout", "error"))
    shape, reasons, times = tuple(map(int, said["shape"])), tuple(map(str, said["reasons"])), int(said["times"])
    facts = device, bool(said["requires_grad"]), dtype, layout, shape, times, reasons, error
    return Observed(*facts, is_fragile=bool(said["is_fragile"]))


class Told(NamedTuple):
    """The recorded sightings in a source, and those of conversions by the node that was evaluated."""

    sightings: tuple[Sighting, ...]
    at: dict[ast.AST, Sighting]


def told_of(source: Source, path: str) -> Told:
    """The sightings of a source in the record at a path; SourceError if the record cannot be read."""
    try:
        record, folder = _record(path), folder_of(path)
    except ConfigError as error:
        raise SourceError(source.filename, str(error)) from error
    sightings = record.sightings(source, folder)
    sites = Sites(source)
    at: dict[ast.AST, Sighting] = {}
    for each in sightings:
        site = (sites.candidate(each.spot) if each.is_method else None) or sites.operation(each.spot)
        if site is not None and each.what == "conversion":
            at[site.call] = each
    return Told(tuple(sightings), at)


def words_of(observed: Observed) -> str:
    """Describe an observation: "fails (TypeError: ...), seen 3 times: cuda:0, ..."."""
    return f"fails ({observed.error}), {observed.words}" if observed.reasons else f"{observed.words}; never refused"


def words_of_all(sighting: Sighting) -> str:
    """Describe a sighting, and how often the same conversion was not refused."""
    passed = sighting.passed if sighting.is_refused else None
    more = "" if passed is None else f"; not refused {passed.times} time{'s' if passed.times > 1 else ''}"
    return f"{words_of(sighting.observed)}{more}"


@cache
def _record(path: str) -> Record:
    return read_record(path)
