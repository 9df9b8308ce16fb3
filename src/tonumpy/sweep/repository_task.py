"""The process of one task of a sweep: writes a repository's files into a folder and runs `check` and `fix` there."""

import json
import os
import pickle
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from functools import cache
from typing import Any

from tonumpy.boundary.git_objects import Repository, RepositoryError
from tonumpy.boundary.output import replace_file
from tonumpy.cli import main as cli
from tonumpy.cli.cli_arguments import parse_arguments
from tonumpy.cli.disk import read
from tonumpy.cli.work import Run
from tonumpy.config import ConfigError
from tonumpy.findings import SourceError
from tonumpy.report import Report
from tonumpy.report import json as json_report
from tonumpy.sweep.git_patch import make_patch
from tonumpy.sweep.layout import lay_out
from tonumpy.sweep.messages import Entry, Failure, Kind, Reply, Request
from tonumpy.sweep.worker import REPLY
from tonumpy.text.source import Source

_AROUND = 2  # lines kept before and after a finding


def main() -> None:
    """Read the request from standard input and write the reply to a file in the temporary working folder."""
    request: Request = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    start, work = time.monotonic(), os.getcwd()
    try:
        reply = perform(request, work)
    except RepositoryError as error:
        reply = _failed("unreadable", str(error))
    except ConfigError as error:
        reply = _failed("configuration", str(error).replace(f"{os.getcwd()}{os.sep}", ""))
    except MemoryError:
        reply = _failed("memory", "no memory was left")
    except OSError as error:
        reply = _failed("disk", f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(frame.filename)}:{frame.lineno}"
        reply = _failed("died", f"internal error: {type(error).__name__}: {error} ({place})")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]  # git is a child
    cpu_seconds = sum(each.ru_utime + each.ru_stime for each in used)
    reply = reply._replace(seconds=time.monotonic() - start, cpu_seconds=cpu_seconds, memory=used[0].ru_maxrss * 1024)
    replace_file(os.path.join(work, REPLY), pickle.dumps(reply))


def _end_with_parent() -> None:
    """Kill the process group once standard input ends, as it does when the parent process ends."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


def _failed(kind: Kind, reason: str) -> Reply:
    return Reply(failure=Failure(kind, reason))


def perform(request: Request, work: str) -> Reply:
    """Resolve the commit, write its files into `work`, and run the commands on it."""
    repository = Repository(os.path.join(work, "git"), request.target.source)
    commit = repository.commit(request.target.revision)
    if commit in request.done:
        return Reply(commit, known=True)
    repository.fetch(commit)
    repository.run("read-tree", commit)
    # The search for settings goes on above a repository: end it here, before any file in a shared temporary folder.
    replace_file(os.path.join(work, "pyproject.toml"), b"[tool.tonumpy]\n")
    files = lay_out(repository, os.path.join(work, "tree"))
    os.chdir(os.path.join(work, "tree"))
    orders = request.orders
    run = _run("check", orders.check, [] if request.target.folder is None else [request.target.folder])
    report = run.report()
    repairable = sorted({finding.filename for finding in report.findings if finding.fix})
    changes = _run("fix", orders.fix, repairable).changes if orders.fix is not None and repairable else []
    changed = {os.fsencode(os.path.normpath(path)): change.new for path, change in changes}
    patch = make_patch(repository, commit, changed) if changed else None
    findings = _entries(report._replace(errors=[]))
    return Reply(commit, False, files, len(run.outcomes), findings, _entries(report._replace(findings=[])), patch)


# A record of observations is not part of a commit, so none is used.
_WHOLE = ("--observed=",)


def _run(command: str, options: Sequence[str], paths: Sequence[str]) -> Run:
    words = [command, *options, *_WHOLE, "--jobs=1", "--quiet", "--no-cache", "--", *paths]
    return cli.process_files(parse_arguments(words), command)


def _entries(report: Report) -> tuple[Entry, ...]:
    """The entries of the JSON report, with paths relative to the repository."""
    rendered = json_report.render(report, colour=False)
    said = json.loads(rendered.replace(json.dumps(f"{os.getcwd()}{os.sep}")[1:-1], ""))
    return tuple(_with_lines(each) for each in said)


def _with_lines(said: dict[str, Any]) -> Entry:
    """The entry with its line, the lines around it, and the row of the first of these."""
    if said["cell"] is not None:  # the rows in a cell are the cell's own
        return Entry(said)
    source = _source(said["filename"])
    edits = said["fix"]["edits"] if said["fix"] else []
    rows = [place[name]["row"] for place in (said, *edits) for name in ("location", "end_location")]
    if source is None or max(rows) > len(source.line_starts):
        return Entry(said)
    first, last = max(1, min(rows) - _AROUND), min(len(source.line_starts), max(rows) + _AROUND)
    texts = [source.line(row).rstrip("\r\n") for row in range(first, last + 1)]
    return Entry(said, texts[said["location"]["row"] - first], "\n".join(texts), first)


@cache
def _source(path: str) -> Source | None:
    try:
        return Source(read(path), path)
    except SourceError:
        return None


if __name__ == "__main__":
    main()
