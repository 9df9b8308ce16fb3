"""Makes one patch for `git am` of the repaired files of a commit, and tries it out before handing it over."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.boundary.git_objects import LINK, RepositoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonumpy.boundary.git_objects import Repository

_AUTHOR = b"tonumpy <tonumpy@users.noreply.github.com>"
_SUBJECT = b"Take tensors off the graph and to the CPU before they become arrays\n\nRepaired by tonumpy.\n"
_OPTIONS = ("--stdout", "--no-signature", "--no-renames", "--full-index", "--binary", "--no-ext-diff", "-1")


class Changed(NamedTuple):
    """A file that is repaired, and what it should hold."""

    path: bytes
    new: bytes


def make_patch(repository: Repository, commit: str, changes: Sequence[Changed]) -> bytes:
    """The patch, the same bytes for the same commit and changes. RepositoryError if git would make something else of
    it.

    Files with carriage returns come as binary patches: `git am` takes the carriage returns out of all others.
    """
    modes = {entry.path: entry.mode for entry in repository.tree(commit)}
    changes = sorted(changes)
    if any(modes.get(change.path) in (None, LINK) for change in changes):
        raise RepositoryError("a repaired file is not one of the commit's")
    repository.attributes(b"%s -diff\n" % _pattern(change.path) for change in changes if b"\r" in change.new)
    repaired = _commit(repository, commit, changes, modes)
    patch = repository.ask("-c", "core.quotePath=true", "format-patch", *_OPTIONS, repaired)
    _try_out(repository, commit, repaired, patch)
    return patch


def _commit(repository: Repository, parent: str, changes: Sequence[Changed], modes: dict[bytes, str]) -> str:
    date = repository.ask("show", "--no-patch", "--format=%cd", "--date=raw", parent).strip()
    parts = [
        b"commit refs/heads/repaired\n",
        b"author %s %s\ncommitter %s %s\n" % (_AUTHOR, date, _AUTHOR, date),
        b"data %d\n%s\n" % (len(_SUBJECT), _SUBJECT),
        b"from %s\n" % parent.encode(),
    ]
    for change in changes:
        parts.append(b"M %s inline %s\n" % (modes[change.path].encode(), _quoted(change.path)))
        parts.append(b"data %d\n%s\n" % (len(change.new), change.new))
    repository.ask("fast-import", "--quiet", "--force", stdin=b"".join(parts))
    return repository.ask("rev-parse", "--verify", "refs/heads/repaired").decode().strip()


def _try_out(repository: Repository, commit: str, repaired: str, patch: bytes) -> None:
    """Applied to the commit, as `git am` would, it must give the very tree that was meant."""
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        repository.write_index(commit, index)
        repository.ask("apply", "--cached", stdin=patch.replace(b"\r\n", b"\n"), index=index)
        made = repository.ask("write-tree", index=index).strip()
    if made != repository.ask("rev-parse", f"{repaired}^{{tree}}").strip():
        raise RepositoryError("the patch does not give the files that were meant")


def _quoted(path: bytes) -> bytes:
    return b'"%s"' % path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def _pattern(path: bytes) -> bytes:
    """A line of an attributes file that means this path alone."""
    special = b"".join(b"\\" + bytes([each]) if each in b"*?[]\\" else bytes([each]) for each in path)
    return _quoted(b"/" + special)
