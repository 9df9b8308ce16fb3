"""Leaves out of a report what stands on lines that have not changed since a commit: takes both, returns the rest.

git is asked for differences in a repository of our own, which borrows the objects of the other: its configuration,
attributes, hooks and filters are not read, and nothing is fetched.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

from tonumpy.boundary.git_objects import Repository, RepositoryError
from tonumpy.boundary.paths import real_path, root_of
from tonumpy.config import ConfigError

if TYPE_CHECKING:
    from types import TracebackType

    from tonumpy.findings import Finding
    from tonumpy.report import Report

_HUNK = re.compile(rb"^@@ -[0-9,]+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_AS_THEY_ARE = ("--no-ext-diff", "--no-textconv", "--no-color", "--text", "--unified=0", "--ignore-cr-at-eol")
_CHANGED_FILES = ("diff-index", "--cached", "-z", "--find-renames", "--no-ext-diff")


class DiffBase(AbstractContextManager["DiffBase"]):
    """The commit at which a branch has left `revision`; ConfigError if the current repository has no such commit."""

    def __init__(self, revision: str) -> None:
        self._revision = revision
        self._stack = ExitStack()
        self._bases: dict[str, _Base | None] = {}
        if not revision:  # of a variable that is not set
            raise ConfigError("--diff-base: no commit is named")
        top = root_of(os.curdir)
        if top is None:
            raise ConfigError("--diff-base: the current folder is in no git repository")
        try:
            self._bases[top] = self._base(top)
        except RepositoryError as error:
            self._stack.close()
            raise ConfigError(f"--diff-base {revision}: {error}") from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def only_new(self, report: Report) -> tuple[Report, int]:
        """The report with the findings that are on a changed line, and how many are on none."""
        rows: dict[str, list[range] | None] = {}
        files: dict[str, list[str]] = {}
        for filename in {finding.filename for finding in report.findings}:
            top = root_of(os.path.dirname(real_path(filename)))
            rows[filename] = None
            if top is not None:
                files.setdefault(top, []).append(filename)
        for top, filenames in files.items():
            rows |= self._changed_rows(top, filenames, report)
        kept = [finding for finding in report.findings if _is_new(finding, rows[finding.filename])]
        return report._replace(findings=kept), len(report.findings) - len(kept)

    def _changed_rows(self, top: str, filenames: list[str], report: Report) -> dict[str, list[range] | None]:
        """By file; None for one that is new, or in a repository without such a commit."""
        if top not in self._bases:
            try:
                self._bases[top] = self._base(top)
            except RepositoryError:  # a repository in the repository
                self._bases[top] = None
        base = self._bases[top]
        if base is None or report.read is None:
            return {}
        paths = {os.fsencode(os.path.relpath(real_path(name), top)): name for name in filenames}
        try:
            found = base.changed_rows({path: report.read(name) for path, name in paths.items()})
        except RepositoryError as error:
            raise ConfigError(f"--diff-base {self._revision}: {error}") from error
        return {name: found[path] for path, name in paths.items()}

    def _base(self, top: str) -> _Base:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tonumpy-", ignore_cleanup_errors=True))
        return _Base(Repository(folder, top), self._revision, top)


def _is_new(finding: Finding, rows: list[range] | None) -> bool:
    start, end = finding.cell[1:] if finding.cell else (finding.start, finding.end)  # in the JSON of a notebook
    return rows is None or any(each.start <= end.row and start.row < each.stop for each in rows)


class _Base:
    """The commit of one repository that its files are compared with."""

    def __init__(self, repository: Repository, revision: str, top: str) -> None:
        self._run = repository.run
        self._top = top
        self._commit = repository.commit(revision)
        try:
            head = repository.commit("HEAD")
            self._commit = self._run("merge-base", self._commit, head).decode().strip()
        except RepositoryError:
            pass  # no common history in sight, as in a shallow clone

    def changed_rows(self, files: dict[bytes, bytes]) -> dict[bytes, list[range] | None]:
        """The changed rows of files with their content now; None for a file that the commit does not hold.

        The index gets these files, and loses all that are gone from the work tree: git finds the renames among both.
        """
        self._run("read-tree", self._commit)
        gone = self._run("ls-files", "-z", "--deleted", tree=self._top).split(b"\0")[:-1]
        now = {
            path: self._run("hash-object", "-w", "--no-filters", "--stdin", stdin=data) for path, data in files.items()
        }
        zero = b"0" * len(next(iter(now.values())).strip())
        rows = [b"0 %s\t%s\0" % (zero, path) for path in gone if path not in files]
        rows += [b"100644 %s\t%s\0" % (object_id.strip(), path) for path, object_id in now.items()]
        self._run("update-index", "-z", "--index-info", stdin=b"".join(rows))
        found: dict[bytes, list[range] | None] = {path: [] for path in files}
        words = iter(self._run(*_CHANGED_FILES, self._commit).split(b"\0"))
        for word in words:
            if word.startswith(b":"):
                _, _, before, after, status = word.decode().split(" ")
                path = next(words)
                if status.startswith("R"):
                    path = next(words)
                if path in files:
                    found[path] = self._changed_between(before, after) if status[0] in "MR" else None
        return found

    def _changed_between(self, before: str, after: str) -> list[range]:
        found = self._run("diff", *_AS_THEY_ARE, before, after)
        hunks = ((int(start), int(count or b"1")) for start, count in _HUNK.findall(found))
        return [range(start, start + count) for start, count in hunks if count]
