"""Writes what the analysis reads of a commit into a folder, as a clone of the repository would."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from tonumpy.boundary.git_objects import FOLDER, LINK, SUBMODULE, RepositoryError
from tonumpy.boundary.output import open_new
from tonumpy.boundary.paths import real_path
from tonumpy.frontends.files import SUFFIXES

if TYPE_CHECKING:
    from tonumpy.boundary.git_objects import Repository, TreeEntry

_ENDINGS = tuple(suffix.encode() for suffix in SUFFIXES)
_READ_TOO = (b"pyproject.toml", b"pyvenv.cfg")  # settings, and what tells a virtual environment
NOWHERE = ".tonumpy-outside"  # what a link leads to that would lead out of the repository


def lay_out(repository: Repository, commit: str, folder: str) -> int:
    """Write the Python files, the settings, all folders and all links of a commit; the number of Python files.

    Files come first, while no link exists that could lead them elsewhere. Submodules stay empty folders.
    """
    tree = repository.tree(commit)
    os.makedirs(os.path.join(folder, ".git"))
    repository.write_index(commit, os.path.join(folder, ".git", "index"))
    top = os.fsencode(folder)
    for entry in tree:
        if entry.mode in (FOLDER, SUBMODULE):
            os.makedirs(os.path.join(top, entry.path))
    files = [entry for entry in tree if entry.mode not in (FOLDER, SUBMODULE, LINK) and _is_read(entry)]
    for entry, data in repository.contents(files):
        with open(open_new(os.path.join(top, entry.path)), "wb") as stream:
            stream.write(data)
    links = [entry for entry in tree if entry.mode == LINK]
    for entry, target in repository.contents(links):
        _link(target, os.path.join(top, entry.path))
    _cut_off_links(top, links)
    return sum(entry.path.endswith(_ENDINGS) for entry in files)


def _is_read(entry: TreeEntry) -> bool:
    return entry.path.endswith(_ENDINGS) or os.path.basename(entry.path) in _READ_TOO


def _link(target: bytes, path: bytes) -> None:
    try:
        os.symlink(target, path)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        raise RepositoryError(f"a link that cannot be made: {os.fsdecode(path)}") from error


def _cut_off_links(top: bytes, links: list[TreeEntry]) -> None:
    """A link that leads out of the repository would have us read a file of this machine: it leads nowhere instead."""
    inside = real_path(top) + b"/"
    paths = [os.path.join(top, link.path) for link in links]
    for path in [path for path in paths if not (real_path(path) + b"/").startswith(inside)]:
        os.unlink(path)
        os.symlink(os.fsencode(NOWHERE), path)
