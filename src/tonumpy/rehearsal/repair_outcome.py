"""Judges whether repairs hold when the program runs again: whether it still ends as it did, which of them are to blame
where it does not, and which did not run again."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.boundary.paths import real_path
from tonumpy.conversions import ImplicitConversion
from tonumpy.findings import Position
from tonumpy.pipeline import repair
from tonumpy.repair.rewrite import apply_edits
from tonumpy.text.candidates import OperationSite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tonumpy.findings import Edit, Finding
    from tonumpy.judgements import Judgement
    from tonumpy.observed.sighting import Sighting
    from tonumpy.rehearsal.process import Ended
    from tonumpy.rehearsal.spool import Failure, Run
    from tonumpy.text.source import Source

_INTERRUPTS = {getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")}
_INTERRUPTED = 130  # the exit code after Ctrl-C


class RepairedFile(NamedTuple):
    """The text as it was first, the judgements whose repairs it has now, their edits and the text that has them."""

    source: Source
    judgements: tuple[Judgement, ...]
    edits: tuple[Edit, ...]
    text: str

    @property
    def filename(self) -> str:
        return self.source.filename

    @property
    def data(self) -> bytes:
        """The bytes of the file; without any repair those that it had."""
        if not self.judgements and self.source.data is not None:
            return self.source.data
        return self.source.encode(self.now.document)

    @property
    def now(self) -> Source:
        return self.source.edited(self.text, self.edits)

    def moved(self, position: Position, *, is_end: bool = False) -> Position:
        """The position after the repairs. Text that is inserted at the very place belongs to what ends there."""
        offset = moved = self.source.offset(position)
        for edit in self.edits:
            end = self.source.offset(edit.end)
            if end < offset or (is_end and end == offset):
                moved += len(edit.content) - (end - self.source.offset(edit.start))
        return self.now.position_at(moved)

    def extent(self, judgement: Judgement) -> tuple[Position, Position]:
        """From where to where the call, or the operation, now stands whose conversion was repaired."""
        conversion = judgement.conversion
        assert conversion is not None
        if not isinstance(conversion, ImplicitConversion):
            node = conversion.candidate.call
        else:
            site = conversion.site
            node = site.node if isinstance(site, OperationSite) else site.call  # type: ignore[assignment]
        start, end = self.source.node_start(node), self.source.node_end(node)
        return self.moved(start), self.moved(end, is_end=True)

    def without(self, judgements: Iterable[Judgement]) -> RepairedFile:
        """SourceError where the others alone cannot be repaired."""
        gone = {id(each) for each in judgements}
        return repaired(self.source, [each for each in self.judgements if id(each) not in gone])


def repaired(source: Source, judgements: Sequence[Judgement]) -> RepairedFile:
    """SourceError where they cannot be repaired."""
    edits = repair(source, judgements)
    return RepairedFile(source, tuple(judgements), edits, apply_edits(source, edits))


class TakenBack(NamedTuple):
    """A finding whose repair is gone again, at its place in the text as it is now, and how the program ended then."""

    finding: Finding
    how: str


class Outcome(NamedTuple):
    """The findings whose repair stands, those that ran again and those that did not, and what was taken back."""

    ran: tuple[Finding, ...]
    unreached: tuple[Finding, ...] = ()
    taken_back: tuple[TakenBack, ...] = ()


def is_broken(first: Ended, again: Ended, files: Sequence[RepairedFile], *, stops: bool) -> bool:
    """True if the repaired program ends otherwise than it did before, and not well.

    One that its user ends is not broken, and one that stops at each refused conversion goes on to the next.
    """
    if again.code == 0 or _is_interrupted(again):
        return False
    if stops and _is_at_refusal(again.run):
        return False
    if stops and _is_at_refusal(first.run):
        return bool(blamed(files, again.run.failure))
    return _end(first, files) != _end(again, ())


def blamed(files: Sequence[RepairedFile], failure: Failure | None) -> list[Judgement]:
    """The judgements repaired where the error was raised; if there are none, those in any line of its traceback."""
    if failure is None:
        return []
    for lines in ({failure.place}, failure.lines):
        rows: dict[str, list[int]] = {}
        for path, row in (line for line in lines if line is not None):
            rows.setdefault(real_path(path), []).append(row)
        found = [
            judgement
            for file in files
            for judgement in file.judgements
            if _has_any(file.extent(judgement), rows.get(real_path(file.filename), ()))
        ]
        if found:
            return found
    return []


def ran_again(file: RepairedFile, judgement: Judgement, sightings: Iterable[Sighting]) -> bool:
    """True if a conversion was seen where it stands; the sightings are those of the file in the last run."""
    return _has_any(file.extent(judgement), [each.spot.row for each in sightings])


def how_it_ended(ended: Ended) -> str:
    """ "raised AttributeError at learn.py:4"."""
    failure = ended.run.failure
    if failure is None or not failure.kind:
        return ended.how
    place = "" if failure.place is None else f" at {os.path.relpath(failure.place[0])}:{failure.place[1]}"
    return f"raised {failure.kind}{place}"


def _has_any(extent: tuple[Position, Position], rows: Sequence[int]) -> bool:
    return any(extent[0].row <= row <= extent[1].row for row in rows)


def _is_interrupted(ended: Ended) -> bool:
    return ended.code == _INTERRUPTED or (ended.code < 0 and -ended.code in _INTERRUPTS)


def _is_at_refusal(run: Run) -> bool:
    """True if it was a refused conversion that ended the program."""
    for event in run.events:
        if run.failure is not None and event.is_refused and event.own >= 0 and event.error is not None:
            call = event.stack[event.own]
            place = os.path.abspath(call.filename), call.row
            if (event.error[0], place) == (run.failure.kind, run.failure.place):
                return True
    return False


def _end(ended: Ended, files: Sequence[RepairedFile]) -> tuple[int, str, tuple[str, int] | None]:
    """The exit code, and of an error its type and its line, where that stands in the files now."""
    failure = ended.run.failure
    if failure is None or not failure.kind or failure.place is None:
        return ended.code, "", None
    path, row = failure.place
    file = next((each for each in files if real_path(each.filename) == real_path(path)), None)
    if file is not None and row <= len(file.source.line_starts):
        row = file.moved(Position(row, 1)).row
    return ended.code, failure.kind, (path, row)
