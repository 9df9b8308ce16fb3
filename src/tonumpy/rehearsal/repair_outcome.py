"""Judges repairs when the program runs again: whether it still ends as before, and which repaired lines did not run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tonumpy.findings import Edit, Finding, Position
from tonumpy.judgements import Judgement
from tonumpy.observed.sighting import Sighting
from tonumpy.pipeline import repair
from tonumpy.rehearsal.process import Ended
from tonumpy.repair.rewrite import apply_edits
from tonumpy.text.source import Source

_INTERRUPTS = {getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")}
_INTERRUPTED = 130  # the exit code after Ctrl-C


class RepairedFile(NamedTuple):
    """The original source, the judgements whose repairs are applied, their edits, and the repaired text."""

    source: Source
    judgements: tuple[Judgement, ...]
    edits: tuple[Edit, ...]
    text: str

    @property
    def filename(self) -> str:
        return self.source.filename

    @property
    def data(self) -> bytes:
        """The bytes of the repaired file; without repairs, the original bytes."""
        if not self.judgements and self.source.data is not None:
            return self.source.data
        return self.source.encode(self.now.document)

    @property
    def now(self) -> Source:
        return self.source.edited(self.text, self.edits)

    def moved(self, position: Position, *, is_end: bool = False) -> Position:
        """The position after the repairs. Text inserted exactly there counts as before it only if `is_end`."""
        offset = moved = self.source.offset(position)
        for edit in self.edits:
            end = self.source.offset(edit.end)
            if end < offset or (is_end and end == offset):
                moved += len(edit.content) - (end - self.source.offset(edit.start))
        return self.now.position_at(moved)

    def extent(self, judgement: Judgement) -> tuple[Position, Position]:
        """The start and end, after the repairs, of the call or operation that was repaired."""
        conversion = judgement.conversion
        assert conversion is not None
        node = conversion.site.call
        start, end = self.source.node_start(node), self.source.node_end(node)
        return self.moved(start), self.moved(end, is_end=True)

    def bare(self) -> RepairedFile:
        """The file without any repair."""
        return RepairedFile(self.source, (), (), self.source.text)


def repaired(source: Source, judgements: Sequence[Judgement]) -> RepairedFile:
    """Apply the judgements' repairs; SourceError if they cannot be applied."""
    edits = repair(source, judgements)
    return RepairedFile(source, tuple(judgements), edits, apply_edits(source, edits))


class Outcome(NamedTuple):
    """Findings whose repairs stand and ran again (`ran`), stand but did not run (`unreached`), or were undone
    (`taken_back`), at their places in the current text; `how` the program ended with the undone repairs."""

    ran: tuple[Finding, ...]
    unreached: tuple[Finding, ...] = ()
    taken_back: tuple[Finding, ...] = ()
    how: str = ""


def is_broken(first: Ended, again: Ended, *, stops: bool) -> bool:
    """True if the repaired program fails, and otherwise than before.

    False if the user interrupted it, or if it `stops` at refused conversions and has come to the next one.
    """
    failure = again.run.failure
    is_interrupted = again.code == _INTERRUPTED or -again.code in _INTERRUPTS
    is_next = stops and failure is not None and failure.kind in ("TypeError", "RuntimeError")
    return again.code != 0 and not is_interrupted and not is_next and _end(first) != _end(again)


def ran_again(file: RepairedFile, judgement: Judgement, sightings: Iterable[Sighting]) -> bool:
    """True if the last run, whose sightings of the file are given, has one at the repaired place."""
    start, end = file.extent(judgement)
    return any(start.row <= each.spot.row <= end.row for each in sightings)


def how_it_ended(ended: Ended) -> str:
    """Describe the end of a run: "raised AttributeError at learn.py:4"."""
    failure = ended.run.failure
    if failure is None or not failure.kind:
        return ended.how
    place = "" if failure.place is None else f" at {os.path.relpath(failure.place[0])}:{failure.place[1]}"
    return f"raised {failure.kind}{place}"


def _end(ended: Ended) -> tuple[int, str, str]:
    """The identity of an end: exit code, the error's type and its file."""
    failure = ended.run.failure
    return ended.code, failure.kind if failure else "", failure.place[0] if failure and failure.place else ""
