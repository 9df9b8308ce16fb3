"""Leaves findings on lines that have not changed since a commit out of a report.

git computes the differences in a temporary repository of ours that borrows the objects of the user's: the
configuration, attributes, hooks and filters of that are not read, and nothing is fetched.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tonumpy.boundary.git_objects import Repository, RepositoryError
from tonumpy.boundary.paths import real_path, root_of
from tonumpy.config import ConfigError
from tonumpy.findings import Finding
from tonumpy.report import Report

_HUNK = re.compile(rb"^@@ -[0-9,]+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_AS_THEY_ARE = ("--no-ext-diff", "--no-textconv", "--no-color", "--text", "--unified=0", "--ignore-cr-at-eol")
_CHANGED_FILES = ("diff-index", "--cached", "-z", "--find-renames", "--no-ext-diff")


@contextmanager
def diff_base(revision: str) -> Iterator[DiffBase]:
    """The commit where the branch forked off `revision`; ConfigError if the current repository has no such commit."""
    top = root_of(os.curdir)
    if not revision:  # from an unset shell variable
        raise ConfigError("--diff-base: no commit is named")
    if top is None:
        raise ConfigError("--diff-base: the current folder is in no git repository")
    with tempfile.TemporaryDirectory(prefix="tonumpy-", ignore_cleanup_errors=True) as folder:
        try:
            yield DiffBase(Repository(folder, top), revision, top)
        except RepositoryError as error:
            raise ConfigError(f"--diff-base {revision}: {error}") from error


class DiffBase:
    """The commit with which the files of a repository are compared."""

    def __init__(self, repository: Repository, revision: str, top: str) -> None:
        self._run = repository.run
        self._top = top
        self._commit = repository.commit(revision)
        with suppress(RepositoryError):  # no common history in sight, as in a shallow clone
            self._commit = self._run("merge-base", self._commit, repository.commit("HEAD")).decode().strip()

    def only_new(self, report: Report) -> tuple[Report, int]:
        """The report with only the findings on changed lines, and the number of the others."""
        assert report.read is not None
        names = {finding.filename for finding in report.findings}
        paths = {name: os.fsencode(os.path.relpath(real_path(name), self._top)) for name in names}
        own = {path: report.read(name) for name, path in paths.items() if root_of(_folder(name)) == self._top}
        rows = self.changed_rows(own) if own else {}
        kept = [finding for finding in report.findings if _is_new(finding, rows.get(paths[finding.filename]))]
        return report._replace(findings=kept), len(report.findings) - len(kept)

    def changed_rows(self, files: dict[bytes, bytes]) -> dict[bytes, list[range] | None]:
        """The changed rows of files, given with their current content; None for a file that the commit lacks.

        These files are put into the index, and files missing in the work tree removed, so that git finds renames.
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


def _folder(filename: str) -> str:
    return os.path.dirname(real_path(filename))


def _is_new(finding: Finding, rows: list[range] | None) -> bool:
    """True if the finding is on a changed line, or its file is new or in another repository (`rows` is None)."""
    start, end = finding.cell[1:] if finding.cell else (finding.start, finding.end)  # in the JSON of a notebook
    return rows is None or any(each.start <= end.row and start.row < each.stop for each in rows)
