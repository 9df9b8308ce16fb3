"""One task of a sweep, done in a worker: the repository is laid out in a folder, and the everyday command run on it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import time
from typing import TYPE_CHECKING

from tonumpy.boundary.git_objects import Repository, RepositoryError
from tonumpy.boundary.output import write_own
from tonumpy.config import ConfigError
from tonumpy.findings import SourceError
from tonumpy.frontends import cli
from tonumpy.frontends.asked import configuration_of
from tonumpy.frontends.cli_arguments import parse_arguments
from tonumpy.frontends.disk import read
from tonumpy.report import Report
from tonumpy.report import json as json_report
from tonumpy.sweep.layout import lay_out
from tonumpy.sweep.messages import Changed, Cost, Entry, Failure, Reply
from tonumpy.sweep.patches import make_patch
from tonumpy.sweep.scratch import remove_own
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    from tonumpy.sweep.messages import Kind, Request

    _T = TypeVar("_T")

TREE, GIT = "tree", "git"
_AROUND = 2  # lines that are kept before and after a finding


def perform(request: Request, work: str) -> Reply:
    """Do the task in the empty folder `work`, which is thrown away afterwards."""
    start, cpu = time.monotonic(), _cpu_seconds()
    try:
        reply = _perform(request, work)
    except RepositoryError as error:
        reply = _failed("unreadable", str(error))
    except ConfigError as error:
        reply = _failed("configuration", _relative(str(error), os.getcwd()))
    except MemoryError:
        reply = _failed("memory", "no memory was left")
    except OSError as error:
        reply = _failed("disk", f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return reply._replace(cost=Cost(time.monotonic() - start, _cpu_seconds() - cpu, memory))


def _failed(kind: Kind, reason: str) -> Reply:
    return Reply(failure=Failure(kind, reason))


def _cpu_seconds() -> float:
    """Of this process, and of git."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _perform(request: Request, work: str) -> Reply:
    if request.commit is None:
        return _begin(request, work)
    if request.changes:
        repository = _repository(request, work)
        repository.fetch(request.commit)
        return Reply(request.commit, patch=make_patch(repository, request.commit, request.changes))
    folder = shared_folder(request, request.commit)
    if not os.path.isdir(folder):
        repository = _repository(request, work)
        repository.fetch(request.commit)
        _lay_out(repository, request.commit, work)
        _share(work, folder)
    os.chdir(os.path.join(folder, TREE))
    return _analysed(request, request.commit, list(request.files))


def _begin(request: Request, work: str) -> Reply:
    """Find out the commit, and do all of it unless that is too much for one task."""
    repository = _repository(request, work)
    commit = repository.commit(request.target.revision)
    if commit in request.done:
        return Reply(commit, known=True)
    repository.fetch(commit)
    files = _lay_out(repository, commit, work)
    os.chdir(os.path.join(work, TREE))
    paths, errors = _candidates(request)
    reply = Reply(commit, files=files, candidates=len(paths), errors=tuple(errors))
    if len(paths) > request.orders.piece:
        _share(work, shared_folder(request, commit))
        return reply._replace(pieces=tuple(_pieces(paths, request.orders.piece)))
    if not paths:
        return reply
    done = _analysed(request, commit, paths)
    patch = make_patch(repository, commit, done.changes) if done.changes else None
    return reply._replace(findings=done.findings, errors=(*errors, *done.errors), patch=patch)


def _repository(request: Request, work: str) -> Repository:
    return Repository(os.path.join(work, GIT), request.target.source)


def _lay_out(repository: Repository, commit: str, work: str) -> int:
    """The number of Python files."""
    # The search for settings goes on above a repository; it ends here, and not at what lies about in a common folder.
    write_own(os.path.join(work, "pyproject.toml"), b"[tool.tonumpy]\n")
    return lay_out(repository, commit, os.path.join(work, TREE))


def shared_folder(request: Request, commit: str) -> str:
    """Where the tasks of one repository that was split find it laid out, if one of them was on this machine before."""
    key = hashlib.sha256(f"{request.target.source}\0{commit}".encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(request.orders.scratch, key[:16])


def _share(work: str, folder: str) -> None:
    """The first process to be done gives it its name, in one step; what others made is not used."""
    with contextlib.suppress(OSError):
        os.rename(work, folder)
    if not os.path.isdir(folder):
        raise RepositoryError(f"{folder}: cannot be made")
    remove_own(work)


# What holds of a commit, whatever was seen of it: a record of observations is none of its files.
_WHOLE = ("--observed=",)


def _pieces(paths: list[str], size: int) -> Iterable[tuple[str, ...]]:
    """Neighbours stay together, because they import each other: a piece ends where a folder ends, if one does soon."""
    piece: list[str] = []
    for path in paths:
        ends = bool(piece) and os.path.dirname(path) != os.path.dirname(piece[-1])
        if len(piece) >= 2 * size or (ends and len(piece) >= size):
            yield tuple(piece)
            piece = []
        piece.append(path)
    yield tuple(piece)


def _candidates(request: Request) -> tuple[list[str], list[Entry]]:
    errors: list[SourceError] = []
    paths = [] if request.target.folder is None else [request.target.folder]
    arguments = parse_arguments(["check", *request.orders.check, *_WHOLE, "--quiet", "--", *paths])
    configuration = configuration_of(arguments)
    files = cli.named_files(arguments, configuration, errors)
    found = list(cli.candidate_files(files, arguments, configuration, errors))
    errors.sort(key=lambda error: error.filename)
    return found, _entries(json_report.render(Report([], errors), colour=False))


def _analysed(request: Request, commit: str, paths: list[str]) -> Reply:
    orders = request.orders
    arguments = parse_arguments(["check", *orders.check, *_WHOLE, "--jobs=1", "--quiet", "--no-cache", "--", *paths])
    report = cli.process_files(arguments, "check").report()
    findings = _entries(json_report.render(report._replace(errors=[]), colour=False))
    errors = _entries(json_report.render(report._replace(findings=[]), colour=False))
    changes = _changes(orders.fix, sorted({finding.filename for finding in report.findings if finding.fix}))
    return Reply(commit, findings=tuple(findings), errors=tuple(errors), changes=changes)


def _changes(options: tuple[str, ...] | None, paths: list[str]) -> tuple[Changed, ...]:
    if options is None or not paths:
        return ()
    arguments = parse_arguments(["fix", *options, *_WHOLE, "--jobs=1", "--quiet", "--no-cache", "--", *paths])
    run = cli.process_files(arguments, "fix")
    return tuple(Changed(os.fsencode(os.path.normpath(path)), change.new) for path, change in run.changes)


def _entries(rendered: str) -> list[Entry]:
    here = os.getcwd()
    sources: dict[str, Source | None] = {}
    entries = []
    for said in json.loads(rendered):
        path = said["filename"]
        if path not in sources:
            sources[path] = _source(path)
        source = sources[path] if said["cell"] is None else None  # the rows in a cell are the cell's own
        entries.append(Entry(_relative(said, here), *(_lines(source, said) if source else (None, None, None))))
    return entries


def _source(path: str) -> Source | None:
    try:
        return Source(read(path), path)
    except SourceError:
        return None


def _lines(source: Source, said: dict[str, Any]) -> tuple[str | None, str | None, int | None]:
    """The line that is named, the lines around it, and the row of the first of these."""
    edits = said["fix"]["edits"] if said["fix"] else []
    rows = [place[name]["row"] for place in (said, *edits) for name in ("location", "end_location")]
    count = len(source.line_starts)
    if max(rows) > count:
        return None, None, None
    first, last = max(1, min(rows) - _AROUND), min(count, max(rows) + _AROUND)
    texts = [source.line(row).rstrip("\r\n") for row in range(first, last + 1)]
    return texts[said["location"]["row"] - first], "\n".join(texts), first


def _relative(said: _T, here: str) -> _T:
    """All texts without the name of the folder that the repository was laid out in."""
    made: object = said
    if isinstance(said, str):
        made = said.replace(f"{here}{os.sep}", "")
    elif isinstance(said, dict):
        made = {name: _relative(value, here) for name, value in said.items()}
    elif isinstance(said, list):
        made = [_relative(each, here) for each in said]
    return made  # type: ignore[return-value]
