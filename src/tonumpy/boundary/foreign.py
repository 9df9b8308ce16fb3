"""Recognises foreign folders: with the code of others, or with generated files.

These are the folders that ruff excludes by default, and any environment, whatever its name: installed packages are not
for the user to repair, even if git does not ignore them. Callers may still accept a path that the user names.
"""

from __future__ import annotations

import os
from itertools import takewhile

from tonumpy.boundary.paths import is_inside, real_path, root_of, upwards

# The default of ruff 0.17, `build`, and where other tools keep packages and caches.
FOREIGN_FOLDERS = frozenset(
    ".bzr .direnv .eggs .git .git-rewrite .hg .ipynb_checkpoints .jj .mypy_cache .nox .pants.d .pixi .pyenv"
    " .pytest_cache .pytype .ruff_cache .svn .tonumpy_cache .tox .venv .vscode CVS __pycache__ __pypackages__ _build"
    " buck-out build dist dist-packages node_modules site-packages venv".split()
)
_MARKS_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


def is_foreign(folder: str) -> bool:
    """True if the folder is foreign, by its name or by the marks of an environment in it."""
    return os.path.basename(folder) in FOREIGN_FOLDERS or any(
        os.path.exists(os.path.join(folder, mark)) for mark in _MARKS_OF_ENVIRONMENTS
    )


def lies_in_foreign(path: str) -> bool:
    """True if the path of a file or folder goes through a foreign folder below the top of the project.

    The top is the repository around the working folder, if the path is in it, else the working folder, else the
    repository around the path: a project may be in a folder called `build`, and an environment contain a repository.
    """
    real, here = real_path(path), real_path(os.curdir)
    tops = (root_of(here), here, root_of(os.path.dirname(real)))
    top = next((each for each in tops if each is not None and is_inside(real, each)), os.path.abspath(os.sep))
    folder = real if os.path.isdir(real) else os.path.dirname(real)
    return any(map(is_foreign, takewhile(lambda each: each != top, upwards(folder))))
