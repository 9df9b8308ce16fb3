"""Finds the folders of a repository that contain a package or module. No file is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from tonumpy.engine.names.reads import ABSENT, Reads, digest_of, kind_of
from tonumpy.text.reading import MAX_BYTES as NO_LIMIT

MAX_BYTES = 400_000  # a larger module is generated code or data; it is not followed into
MAX_NEIGHBOURS = 30  # how many modules of a folder are searched for frameworks
MAX_ANCESTORS = 7
SOURCE_FOLDERS = ("src", "lib")  # which many put on the path


class Roots(NamedTuple):
    """Where the first part of a dotted name is found."""

    holding: tuple[str, ...]  # the folders that hold it as a module or package
    of_folders: tuple[str, ...]  # those with a folder of that name without Python files: only submodules are found


def files_of_module(path: str, *, is_folder: bool = True) -> list[str]:
    """The files that may hold the module at a path, in order; a path that ends with `.pyi` is a stub's."""
    if path.endswith(".pyi"):
        return [path]
    return [*([os.path.join(path, "__init__.py")] if is_folder else []), f"{path}.py", f"{path}.ipynb"]


def most_bytes(filename: str) -> int:
    """The size limit of a file that is followed; none for a notebook, whose outputs may be large."""
    return NO_LIMIT if filename.endswith(".ipynb") else MAX_BYTES


def names_in(folder: str) -> list[str]:
    """The sorted names of the modules in a folder; empty if it is no readable folder."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    except OSError:
        return []


def digest_of_names(folder: str) -> str:
    return digest_of(map(os.fsencode, names_in(folder)))


class Folders:
    """Uncached queries to the disk, recorded in `reads`."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def _kind(self, path: str) -> str:
        kind = kind_of(path)
        self._reads.note("kind", path, kind)
        return kind

    def is_file(self, path: str) -> bool:
        return self._kind(path) == "file"

    def is_folder(self, path: str) -> bool:
        return self._kind(path) == "folder"

    def exists(self, path: str) -> bool:
        return self._kind(path) != ABSENT

    def names_in(self, folder: str) -> list[str]:
        if self._reads.records:
            self._reads.note("names", folder, digest_of_names(folder))
        return names_in(folder)

    def neighbours(self, folder: str) -> list[str]:
        """The modules of a folder that are searched for frameworks: at most MAX_NEIGHBOURS."""
        return [os.path.join(folder, name) for name in self.names_in(folder)[:MAX_NEIGHBOURS]]

    def is_package(self, folder: str) -> bool:
        return self.is_file(os.path.join(folder, "__init__.py"))

    def holds_folder(self, folder: str, name: str) -> bool:
        return self.is_folder(os.path.join(folder, name))

    def holds_module(self, folder: str, name: str) -> bool:
        path = os.path.join(folder, name)
        if self.is_file(f"{path}.py") or self.is_package(path):
            return True
        # A namespace package counts only where it holds Python itself: any folder may share a package's name.
        return bool(self.names_in(path))

    def above(self, folder: str) -> Iterator[str]:
        """A folder and its parents, up to the top of the repository."""
        current = os.path.abspath(folder)
        for _ in range(MAX_ANCESTORS):
            yield current
            parent = os.path.dirname(current)
            if parent == current or self.exists(os.path.join(current, ".git")):
                break
            current = parent

    def searched(self, folder: str) -> list[str]:
        """The folders in which an import in this folder may find its module."""
        found = []
        for base in self.above(folder):
            found += [base, *(os.path.join(base, name) for name in SOURCE_FOLDERS)]
        return found

    def roots(self, root: str, folder: str) -> Roots:
        """The folders above the file (or their `src` or `lib`) that hold the package or module `root`, nearest first.

        Folders that are packages come last: `tests/garage` in the package `tests` is `tests.garage`, not `garage`.
        """
        holding: list[str] = []
        of_folders: list[str] = []
        for base in self.searched(folder):
            if self.holds_module(base, root):
                holding.append(base)
            elif self.holds_folder(base, root):
                of_folders.append(base)
        holding.sort(key=lambda base: base != os.path.abspath(folder) and self.is_package(base))
        return Roots(tuple(holding), tuple(of_folders))
