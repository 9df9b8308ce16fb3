"""Resolves paths that a user or a configuration names, and refuses those that lead out of bounds.

A repository's links, folders and configuration are chosen by its author. So links in a repository may not lead out of
it, and a configuration may not name paths outside its own folder or repository.
"""

import errno
import os
from collections.abc import Iterator
from typing import AnyStr

# Folders of version control: their files are never cloned, and some name programs that the system runs.
_PRIVATE_FOLDERS = frozenset((".git", ".hg", ".svn", ".bzr", ".jj", "git~1"))


def configured_path(value: str, folder: str, *, inside: str | None, kind: str, otherwise: str) -> str:
    """The absolute path of a file or folder that a configuration in `folder` names. ValueError if it leads out of
    `inside`, unless that is None, or into a folder of version control; `otherwise`, in the message, is the option with
    which a user may name any other."""
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
    """Resolve all links, except in a chain of links that is too long."""
    try:
        return os.path.realpath(path)
    except RecursionError:
        return os.path.abspath(path)


def place_to_write(path: str) -> str:
    """The path with links resolved. OSError for a folder, for a path in a folder of version control, and for a link
    inside a repository or the current folder that is the last part or leads out. Other links are the user's own."""
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
            if top is not None and each == os.path.abspath(path):  # the user may not expect its target
                raise PermissionError(errno.EPERM, "is a link, and links are not written through")
    if os.path.islink(target):  # links in a ring
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def root_of(folder: str) -> str | None:
    """The nearest folder at or above this one that contains `.git`; running git would cost a process."""
    here = real_path(folder)
    for each in upwards(here):
        if os.path.exists(os.path.join(each, ".git")):
            return each
    return None


def is_inside(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def private_folder(path: str) -> str | None:
    """The folder of version control that contains or is the path, or the target of its links; None if there is none."""
    for each in (*upwards(os.path.abspath(path)), *upwards(real_path(path))):
        # Some file systems ignore case, and trailing blanks and dots.
        if os.path.basename(each).rstrip(". ").lower() in _PRIVATE_FOLDERS:
            return each
    return None


def refuse_private(path: str) -> None:
    """Raise OSError for a path in a folder of version control."""
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
