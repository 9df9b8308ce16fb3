"""Resolves paths that a user or a configuration names, and refuses those that lead out of bounds.

The author of a repository chooses its links, its folders and its configuration. So a link in a repository leads nowhere
outside it, and a configuration names nothing outside its own folder or repository.
"""

import errno
import os
from collections.abc import Iterator
from typing import AnyStr

# Of version control systems: what is in them is never cloned, and some of it names programs that the system runs.
_PRIVATE_FOLDERS = frozenset((".git", ".hg", ".svn", ".bzr", ".jj", "git~1"))


def configured_path(value: str, folder: str, *, inside: str | None, kind: str, otherwise: str) -> str:
    """The absolute path of a file or folder that a configuration in `folder` names. ValueError where it leads out of
    `inside`, unless that is None, or into the folder of a version control system; `otherwise` is how a user may name
    any other."""
    path = os.path.join(folder, os.path.expanduser(value))
    real = real_path(path)
    if inside is not None:
        top = real_path(inside)
        if not is_inside(real, top) or (os.name == "nt" and ":" in os.path.splitdrive(real)[1]):  # a stream of a file
            raise ValueError(f"expected a {kind} in {top}; {otherwise} may name any other")
    private = private_folder(path)
    if private is not None:
        raise ValueError(f"expected a {kind} of yours, but {private} belongs to version control")
    return path


def real_path(path: AnyStr) -> AnyStr:
    """Resolve all links; a chain of links that is too long to follow stays."""
    try:
        return os.path.realpath(path)
    except RecursionError:
        return os.path.abspath(path)


def place_to_write(path: str) -> str:
    """The path without links. OSError for a folder or a folder of version control, and for a link that a repository, or
    the current folder, holds: as the last part, or leading out of it. Links that stand elsewhere are the user's own."""
    if "\0" in path or path.endswith(os.sep):
        code = errno.EINVAL if "\0" in path else errno.EISDIR
        raise OSError(code, os.strerror(code))
    here, target = real_path(os.curdir), real_path(path)
    refuse_private(path)
    for each in upwards(os.path.abspath(path)):
        if os.path.islink(each):
            folder = real_path(os.path.dirname(each))
            top = root_of(folder) or (here if is_inside(os.path.join(folder, ""), here) else None)
            if top is not None and not is_inside(target, top):
                raise PermissionError(errno.EPERM, f"leads out of the folder, to {target}")
            if top is not None and each == os.path.abspath(path):  # what it leads to is not what the user has in mind
                raise PermissionError(errno.EPERM, "is a link, and links are not written through")
    if os.path.islink(target):  # links in a ring
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def root_of(folder: str) -> str | None:
    """The nearest folder at or above this one that holds `.git`: asking git itself costs a process."""
    here = real_path(folder)
    for each in upwards(here):
        if os.path.exists(os.path.join(each, ".git")):
            return each
    return None


def is_inside(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def private_folder(path: str) -> str | None:
    """The folder of a version control system that a path, or what it links to, leads into or is; None for no such."""
    for each in (*upwards(os.path.abspath(path)), *upwards(real_path(path))):
        # Some file systems ignore case, and blanks and dots at the end.
        if os.path.basename(each).rstrip(". ").lower() in _PRIVATE_FOLDERS:
            return each
    return None


def refuse_private(path: str) -> None:
    """OSError for a path that leads into the folder of a version control system."""
    private = private_folder(path)
    if private is not None:
        raise PermissionError(errno.EPERM, f"is in {private}, which belongs to version control")


def upwards(path: str) -> Iterator[str]:
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent
