"""Leaves out of a report what stands on lines that have not changed since a commit: takes both, returns the rest.

git is asked for the commit's files and for differences of texts in a repository of our own, which borrows the objects
of the other: its configuration, attributes, hooks and filters are not read, and nothing is fetched.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.boundary.git_objects import FOLDER, LINK, SUBMODULE, Repository, RepositoryError
from tonumpy.boundary.paths import real_path, root_of
from tonumpy.config import ConfigError

if TYPE_CHECKING:
    from types import TracebackType

    from tonumpy.findings import Finding
    from tonumpy.report import Report

_HUNK = re.compile(rb"^@@ -[0-9,]+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_AS_THEY_ARE = ("--no-ext-diff", "--no-textconv", "--no-color", "--text", "--unified=0", "--ignore-cr-at-eol")


class DiffBase(AbstractContextManager["DiffBase"]):
    """The commit at which a branch has left `revision`; ConfigError if the current repository has no such commit."""

    def __init__(self, revision: str) -> None:
        self._revision = revision
        self._stack = ExitStack()
        self._bases: dict[str, _Base | None] = {}
        self._rows: dict[str, list[range] | None] = {}
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
        kept = [finding for finding in report.findings if self._is_new(finding, report)]
        return report._replace(findings=kept), len(report.findings) - len(kept)

    def _is_new(self, finding: Finding, report: Report) -> bool:
        start, end = finding.cell[1:] if finding.cell else (finding.start, finding.end)  # in the JSON of a notebook
        if finding.filename not in self._rows:
            self._rows[finding.filename] = self._changed_rows(finding.filename, report)
        rows = self._rows[finding.filename]
        return rows is None or any(each.start <= end.row and start.row < each.stop for each in rows)

    def _changed_rows(self, filename: str, report: Report) -> list[range] | None:
        """None for a file that is new, or in a repository without such a commit."""
        path = real_path(filename)
        top = root_of(os.path.dirname(path))
        if top is None or report.read is None:
            return None
        if top not in self._bases:
            try:
                self._bases[top] = self._base(top)
            except RepositoryError:  # a repository in the repository
                self._bases[top] = None
        base = self._bases[top]
        if base is None:
            return None
        try:
            return base.changed_rows(os.fsencode(os.path.relpath(path, top)), report.read(filename))
        except RepositoryError as error:
            raise ConfigError(f"--diff-base {self._revision}: {filename}: {error}") from error

    def _base(self, top: str) -> _Base:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tonumpy-", ignore_cleanup_errors=True))
        return _Base(Repository(folder, top), self._revision, top)


class _Base:
    """The commit of one repository that its files are compared with."""

    def __init__(self, repository: Repository, revision: str, top: str) -> None:
        self._repository = repository
        self._top = os.fsencode(top)
        self._commit = repository.commit(revision)
        try:
            self._head = repository.commit("HEAD")
            self._commit = repository.ask("merge-base", self._commit, self._head).decode().strip()
        except RepositoryError:
            self._head = self._commit  # no common history in sight, as in a shallow clone

    @cached_property
    def _files(self) -> dict[bytes, str]:
        """The object of each file."""
        entries = self._repository.tree(self._commit)
        return {each.path: each.object_id for each in entries if each.mode not in (FOLDER, LINK, SUBMODULE)}

    @cached_property
    def _former_names(self) -> dict[bytes, bytes]:
        """The former names of files that have been renamed since, by their new ones."""
        asked = ("diff-tree", "-r", "-z", "--find-renames", "--diff-filter=R", "--name-status", "--no-ext-diff")
        words = self._repository.ask(*asked, self._commit, self._head).split(b"\0")
        return dict(zip(words[2::3], words[1::3], strict=False))

    @cached_property
    def _gone(self) -> list[str]:
        """The objects of the files that are no longer there, as those that were moved and not committed yet."""
        moved = {before for now, before in self._former_names.items() if self._is_there(now)}
        files = self._files.items()
        return [object_id for path, object_id in files if path not in moved and not self._is_there(path)]

    def _is_there(self, path: bytes) -> bool:
        return os.path.lexists(os.path.join(self._top, path))

    def _moved_from(self, after: str) -> str | None:
        """The object that a moved file had, by git's own measure of what is a rename."""
        trees = [self._tree("gone", self._gone), self._tree("now", [after])]
        words = self._repository.ask(
            "diff-tree", "-z", "--find-renames", "--diff-filter=R", "--name-status", "--no-ext-diff", *trees
        ).split(b"\0")
        return self._gone[int(words[1].partition(b"-")[2])] if len(words) > 2 else None

    def _tree(self, name: str, object_ids: list[str]) -> str:
        names = (f"100644 blob {each}\t{name}-{number}\n" for number, each in enumerate(object_ids))
        return self._repository.ask("mktree", stdin="".join(names).encode()).decode().strip()

    def changed_rows(self, path: bytes, data: bytes) -> list[range] | None:
        before = self._files.get(path) or self._files.get(self._former_names.get(path, b""))
        if before is None and not self._gone:
            return None
        after = self._repository.ask("hash-object", "-w", "--no-filters", "--stdin", stdin=data).decode().strip()
        before = before or self._moved_from(after)
        if before is None:
            return None
        found = self._repository.ask("diff", *_AS_THEY_ARE, before, after)
        hunks = ((int(start), int(count or b"1")) for start, count in _HUNK.findall(found))
        return [range(start, start + count) for start, count in hunks if count]
