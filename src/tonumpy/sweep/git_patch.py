"""Makes one patch for `git am` from the repaired files of a commit."""

from collections.abc import Mapping

from tonumpy.boundary.git_objects import LINK, Repository, RepositoryError

_AUTHOR = b"tonumpy <tonumpy@users.noreply.github.com>"
_SUBJECT = b"Take tensors off the graph and to the CPU before they become arrays\n\nRepaired by tonumpy.\n"
_OPTIONS = ("--stdout", "--no-signature", "--no-renames", "--full-index", "--binary", "--no-ext-diff", "-1")


def make_patch(repository: Repository, commit: str, changes: Mapping[bytes, bytes]) -> bytes:
    """The patch, deterministic for a commit and its changes (the new bytes of each file, by path).

    Files with carriage returns become binary patches: `git am` removes carriage returns from all others.
    """
    modes = repository.modes()
    if any(modes.get(path) in (None, LINK) for path in changes):
        raise RepositoryError("a repaired file is not one of the commit's")
    binary = (b"%s -diff\n" % _pattern(path) for path, new in changes.items() if b"\r" in new)
    repository.write_attributes(b"".join(binary))
    date = repository.run("show", "--no-patch", "--format=%cd", "--date=raw", commit).strip()
    parts = [
        b"commit refs/heads/repaired\n",
        b"author %s %s\ncommitter %s %s\n" % (_AUTHOR, date, _AUTHOR, date),
        b"data %d\n%s\n" % (len(_SUBJECT), _SUBJECT),
        b"from %s\n" % commit.encode(),
    ]
    for path, new in sorted(changes.items()):
        parts.append(b"M %s inline %s\ndata %d\n%s\n" % (modes[path], _quoted(path), len(new), new))
    repository.run("fast-import", "--quiet", stdin=b"".join(parts))
    return repository.run("format-patch", *_OPTIONS, "refs/heads/repaired")


def _quoted(path: bytes) -> bytes:
    return b'"%s"' % path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")


def _pattern(path: bytes) -> bytes:
    """The pattern in an attributes file that matches only this path."""
    special = b"".join(b"\\" + bytes([each]) if each in b"*?[]\\" else bytes([each]) for each in path)
    return _quoted(b"/" + special)
