"""Which files of the repository name something: a text search."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tonumpy.engine.names.project import path_of_module

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module

# `from a import f`, in brackets or not. Each begins with a letter, to which a search can jump.
_IMPORTED = r"import(?<!\wimport)\b(?:[^\n(]{0,400}|\s{0,9}\([^)]{0,4000}|[^\n]{0,400}\\\n[^\n]{0,400})\b%s\b"
_MODULE = r"from(?<!\wfrom)\b[^\n]{0,400}\b%s\b|" + _IMPORTED


def main_files_naming(module: Module, name: str) -> list[str]:
    """The scripts of the repository that import the module, and name something."""
    repository = module.project.repositories.around(module.folder)
    if repository is None or module.filename.endswith(".ipynb"):
        return []
    path = os.path.abspath(module.filename)
    found = {*repository.naming(name)} - {path}
    found = found and found & {*repository.naming("__main__")}
    return sorted(found and found & {*repository.naming(os.path.basename(path_of_module(path)), _MODULE)})
