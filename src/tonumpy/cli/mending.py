"""`rehearse --fix`: repairs the faults that a run has seen, and undoes all repairs if the program then fails."""

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tonumpy.cli import standard_streams
from tonumpy.cli.disk import Change, write_all
from tonumpy.config import ConfigError
from tonumpy.findings import Finding, Position, SourceError
from tonumpy.judgements import Judgement
from tonumpy.rehearsal.judging import Judged
from tonumpy.rehearsal.process import Ended
from tonumpy.rehearsal.repair_outcome import Outcome, RepairedFile, how_it_ended, is_broken, ran_again


class Mended(NamedTuple):
    """The result of repairs: `ended` is the last run of the program in its current state, None if that is the first
    run; `files` have the standing repairs, and `taken` were undone, as the program ended so (`how`)."""

    ended: Ended | None
    files: tuple[RepairedFile, ...]
    taken: tuple[Judgement, ...]
    errors: tuple[SourceError, ...]
    how: str = ""


def mend(files: Sequence[RepairedFile], first: Ended, run: Callable[[], Ended], *, stops: bool) -> Mended:
    """Write the files and run the program again; if it is broken then, undo all repairs."""
    standing, errors = _put(_bare(files), files)
    if not _judgements(standing):
        return Mended(None, tuple(standing), (), tuple(errors))
    standard_streams.write("tonumpy: the program runs again, repaired\n", sys.stderr)
    try:
        again = run()
    except ConfigError:
        _put(standing, _bare(standing))
        raise
    if not is_broken(first, again, stops=stops):
        return Mended(again, tuple(standing), (), tuple(errors))
    after, more = _put(standing, _bare(standing))
    left = {id(judgement) for judgement in _judgements(after)}  # of a file that could not be written
    gone = tuple(judgement for judgement in _judgements(standing) if id(judgement) not in left)
    return Mended(None, tuple(after), gone, (*errors, *more), how_it_ended(again))


def outcome_of(mended: Mended, judged: Judged) -> Outcome:
    """The outcome of the repairs; `judged` is the last run of the program in its current state."""
    sightings = {file.source.filename: file.sightings for file in judged.files}
    ran: list[Finding] = []
    unreached: list[Finding] = []
    for file in mended.files:
        for judgement in file.judgements:
            has_run = ran_again(file, judgement, sightings.get(file.filename, ()))
            (ran if has_run else unreached).append(_placed(judgement, file))
    by_name = {file.filename: file for file in mended.files}
    back = sorted((_placed(each, by_name[each.finding.filename]) for each in mended.taken), key=_key)
    return Outcome(tuple(ran), tuple(unreached), tuple(back), mended.how)


def left_of(findings: Sequence[Finding], outcome: Outcome) -> list[Finding]:
    """The findings, and those whose repairs were taken back, for which no repair is offered again."""
    back = {_key(each): each for each in outcome.taken_back}
    found = [_unrepaired(finding) if back.pop(_key(finding), None) else finding for finding in findings]
    return [*found, *map(_unrepaired, back.values())]


def _key(finding: Finding) -> tuple[str, Position, str]:
    return finding.filename, finding.start, finding.code


def _unrepaired(finding: Finding) -> Finding:
    fix = finding.fix and finding.fix._replace(applicability="display-only", edits=())
    return finding._replace(fix=fix)


def _placed(judgement: Judgement, file: RepairedFile) -> Finding:
    finding = judgement.finding
    return finding._replace(start=file.moved(finding.start), end=file.moved(finding.end, is_end=True))


def _judgements(files: Sequence[RepairedFile]) -> list[Judgement]:
    return [judgement for file in files for judgement in file.judgements]


def _bare(files: Sequence[RepairedFile]) -> list[RepairedFile]:
    return [file.bare() for file in files]


def _put(before: Sequence[RepairedFile], after: Sequence[RepairedFile]) -> tuple[list[RepairedFile], list[SourceError]]:
    """Write the files; return them as they are on the disk then, and the errors of those that could not be written."""
    pairs = list(zip(before, after, strict=True))
    changes = [(new.filename, Change(old.data, new.data)) for old, new in pairs if old.data != new.data]
    errors = write_all(changes)
    failed = {error.filename for error in errors}
    return [old if new.filename in failed else new for old, new in pairs], errors
