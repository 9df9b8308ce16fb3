"""Takes a path that a user or a configuration names, and returns the place it leads to; OSError where that is out of
bounds.

The author of a repository chooses its links, its folders and its configuration. So a link in a repository leads nowhere
outside it, and a configuration names nothing outside its own folder or repository.
"""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import AnyStr

# Of version control systems: what is in them is never cloned, and some of it names programs that the system runs.
_PRIVATE_FOLDERS = frozenset((".git", ".hg", ".svn", ".bzr", ".jj", "git~1"))
_NOT_SEEN = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
_DESCRIPTORS = r"/proc/\d+(/task/\d+)?/fd|/dev/fd"  # folders whose files are the streams of a process
_MOST_LINKS = 40  # on one path, as Linux has it


class Place(NamedTuple):
    """Where a path leads, without links but for a descriptor of a process (`/dev/stdout`), which `is_stream`.

    `is_link` says that the last part of the path is a link that stands in a repository or in the current folder.
    """

    path: str
    is_stream: bool = False
    is_link: bool = False


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
    private = private_folder(os.path.abspath(path)) or private_folder(real)
    if private is not None:
        raise ValueError(f"expected a {kind} of yours, but {private} belongs to version control")
    return path


def real_path(path: AnyStr) -> AnyStr:
    """Without links; links that are more than anything could follow, one after the other, stay."""
    try:
        return os.path.realpath(path)
    except RecursionError:
        return os.path.abspath(path)


class RealFolders:
    """The same as `real_path`, for many folders: of those in one another each is looked at once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, folder: str) -> str:
        if os.name == "nt" or os.pardir in folder.split(os.sep):
            return real_path(folder)
        here, unknown = os.path.abspath(folder), list[str]()
        while here not in self._known and here != os.sep:
            unknown.append(here)
            here = os.path.dirname(here)
        real = self._known.get(here, here)
        for each in reversed(unknown):
            place = os.path.join(real, os.path.basename(each))
            real = self._known[each] = real_path(place) if os.path.islink(place) else place
        return real


def followed(path: str) -> Place:
    """Where a path leads. PermissionError where a link leads out of the repository that it stands in, or, where that
    is none, out of the current folder. Links that stand elsewhere are the user's own."""
    here = real_path(os.curdir)
    if os.name == "nt":
        return _followed_at_once(path, here)
    done, left, links, is_link = os.sep, _parts(os.path.join(here, path)), 0, False
    while left:
        name = left.pop(0)
        found = os.path.dirname(done) if name == os.pardir else os.path.join(done, name)
        if re.fullmatch(_DESCRIPTORS, done) and name != os.pardir:
            return Place(found, is_stream=True)
        if name == os.pardir or not os.path.islink(found):
            done = found
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        top = _top_of(done, here)
        if top is not None:
            is_link |= not left
            target = real_path(os.path.join(found, *left))
            if not is_inside(real_path(found), top) or not is_inside(target, top):
                raise PermissionError(errno.EPERM, f"leads out of the folder, to {target}")
        target = os.readlink(found)
        left = [*_parts(target), *left]
        done = os.sep if os.path.isabs(target) else done
    return Place(done, is_link=is_link)


def _followed_at_once(path: str, here: str) -> Place:
    """Where a path has a drive."""
    target, top = real_path(path), _top_of(here, here)
    is_ours = top is not None and is_inside(os.path.abspath(path), top)
    if is_ours and top is not None and not is_inside(target, top):
        raise PermissionError(errno.EPERM, f"leads out of the folder, to {target}")
    return Place(target, is_link=is_ours and os.path.islink(path))


def _parts(path: str) -> list[str]:
    return [part for part in path.split(os.sep) if part not in ("", os.curdir)]


def _top_of(folder: str, here: str) -> str | None:
    return root_of(folder) or (here if is_inside(folder, here) or folder == here else None)


def root_of(folder: str) -> str | None:
    """The nearest folder at or above this one that holds `.git`: asking git itself costs a process."""
    here = real_path(folder)
    for each in _upwards(here):
        if os.path.exists(os.path.join(each, ".git")):
            return each
    return None


def is_inside(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def private_folder(path: str) -> str | None:
    """The folder of a version control system that an absolute path leads into, or is; None where there is none.

    A repository of git's may have any name: it is one by what is in it.
    """
    for each in _upwards(path):
        if _is_private(os.path.basename(each)) or (each != path and _is_git_folder(each)):
            return each
    return None


def _is_private(name: str) -> bool:
    """As file systems compare names that ignore case, blanks and dots at the end, or characters that are not seen."""
    return name.translate(_NOT_SEEN).partition(":")[0].rstrip(". ").lower() in _PRIVATE_FOLDERS


def _is_git_folder(path: str) -> bool:
    """As git itself finds out whether it is in one."""
    head = os.path.join(path, "HEAD")
    if not os.path.lexists(head):
        return False
    common = os.path.join(path, "commondir")
    return os.path.exists(common) or all(os.path.isdir(os.path.join(path, name)) for name in ("objects", "refs"))


def _upwards(path: str) -> Iterator[str]:
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent
