"""One task of a sweep, a process of its own: lays a repository out in a folder and runs the everyday commands there."""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import time
import traceback
from typing import TYPE_CHECKING

from tonumpy.boundary.git_objects import Repository, RepositoryError
from tonumpy.boundary.output import write_own
from tonumpy.config import ConfigError
from tonumpy.findings import SourceError
from tonumpy.frontends import cli
from tonumpy.frontends.cli_arguments import parse_arguments
from tonumpy.frontends.disk import read
from tonumpy.report import json as json_report
from tonumpy.sweep.layout import lay_out
from tonumpy.sweep.messages import Cost, Entry, Failure, Reply
from tonumpy.sweep.patches import Changed, make_patch
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    from tonumpy.frontends.work import Run
    from tonumpy.sweep.messages import Kind, Request

    _T = TypeVar("_T")

TREE, GIT = "tree", "git"
_AROUND = 2  # lines that are kept before and after a finding


def main() -> None:
    """Answer the request on standard input on standard output. The working folder is empty and thrown away later."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may come between
    request: Request = pickle.load(sys.stdin.buffer)
    start, cpu = time.monotonic(), _cpu_seconds()
    try:
        reply = perform(request, os.getcwd())
    except RepositoryError as error:
        reply = _failed("unreadable", str(error))
    except ConfigError as error:
        reply = _failed("configuration", _relative(str(error), os.getcwd()))
    except MemoryError:
        reply = _failed("memory", "no memory was left")
    except OSError as error:
        reply = _failed("disk", f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
        reply = _failed("died", f"internal error: {type(error).__name__}: {error} ({place})")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    cost = Cost(time.monotonic() - start, _cpu_seconds() - cpu, memory)
    with replies:
        pickle.dump(reply._replace(cost=cost), replies)


def _failed(kind: Kind, reason: str) -> Reply:
    return Reply(failure=Failure(kind, reason))


def _cpu_seconds() -> float:
    """The CPU seconds of this process, and of git."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def perform(request: Request, work: str) -> Reply:
    """Find out the commit, lay it out in `work`, and run the commands on it."""
    repository = Repository(os.path.join(work, GIT), request.target.source)
    commit = repository.commit(request.target.revision)
    if commit in request.done:
        return Reply(commit, known=True)
    repository.fetch(commit)
    # The search for settings goes on above a repository; it ends here, and not at what lies about in a common folder.
    write_own(os.path.join(work, "pyproject.toml"), b"[tool.tonumpy]\n")
    files = lay_out(repository, commit, os.path.join(work, TREE))
    os.chdir(os.path.join(work, TREE))
    orders = request.orders
    paths = [] if request.target.folder is None else [request.target.folder]
    run = _run("check", orders.check, paths)
    report = run.report()
    findings = _entries(json_report.render(report._replace(errors=[]), colour=False))
    errors = _entries(json_report.render(report._replace(findings=[]), colour=False))
    repairable = sorted({finding.filename for finding in report.findings if finding.fix})
    changes = _run("fix", orders.fix, repairable).changes if orders.fix is not None and repairable else []
    changed = [Changed(os.fsencode(os.path.normpath(path)), change.new) for path, change in changes]
    patch = make_patch(repository, commit, changed) if changed else None
    candidates = len(run.outcomes)
    return Reply(commit, False, files, candidates, tuple(findings), tuple(errors), patch)


# What holds of a commit, whatever was seen of it: a record of observations is none of its files.
_WHOLE = ("--observed=",)


def _run(command: str, options: Sequence[str], paths: Sequence[str]) -> Run:
    words = [command, *options, *_WHOLE, "--jobs=1", "--quiet", "--no-cache", "--", *paths]
    return cli.process_files(parse_arguments(words), command)


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


if __name__ == "__main__":
    main()
