"""Writes the files of a commit that the analysis reads into a folder, as a clone of the repository would."""

import os

from tonumpy.boundary.git_objects import LINK, SUBMODULE, Repository
from tonumpy.boundary.paths import real_path
from tonumpy.cli.files import SUFFIXES

_ENDINGS = tuple(suffix.encode() for suffix in SUFFIXES)
_READ_TOO = (b"pyproject.toml", b"pyvenv.cfg", b"conda-meta/history")  # settings, and marks of an environment
_NOWHERE = b".tonumpy-outside"  # the new target of a link that leads out of the repository


def lay_out(repository: Repository, folder: str) -> int:
    """Write the Python files, the settings and the links of the index; return the number of Python files."""
    top = os.fsencode(folder)
    os.makedirs(os.path.join(folder, ".git"))
    modes = repository.modes()
    links = [path for path, mode in modes.items() if mode == LINK]
    read = (*_ENDINGS, *_READ_TOO)
    files = [path for path, mode in modes.items() if mode not in (LINK, SUBMODULE) and path.endswith(read)]
    repository.run(
        "checkout-index", "-z", "--stdin", stdin=b"".join(b"%s\0" % path for path in files + links), tree=folder
    )
    _cut_off_links(top, links)
    return sum(path.endswith(_ENDINGS) for path in files)


def _cut_off_links(top: bytes, links: list[bytes]) -> None:
    """Make links that lead out of the repository dangle, so that no file of this machine is read through them."""
    inside = real_path(top) + b"/"
    paths = [os.path.join(top, link) for link in links]
    for path in [path for path in paths if not (real_path(path) + b"/").startswith(inside)]:
        os.unlink(path)
        os.symlink(_NOWHERE, path)
