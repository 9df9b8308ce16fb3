"""Finds and reads the modules of a repository, each at most once."""

from __future__ import annotations

import os
import sys
from errno import EFBIG

from tonumpy.findings import SourceError
from tonumpy.inference.index.frameworks import (
    FOREIGN,
    imported_roots,
)
from tonumpy.inference.index.module import Module
from tonumpy.inference.index.module_use import is_package
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.reading import read_regular
from tonumpy.text.sources import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_KEPT = 3_000_000  # bytes of the text that a process keeps parsed, in some 25 times the memory
MAX_FOLLOWED = 1_500_000  # of the text of other modules for one file: some packages import all of themselves
MAX_BYTES = 400_000  # a larger module is generated code or data; it is not followed into
MAX_ROOTS = 10_000
MAX_NEIGHBOURS = 30  # of the modules in a folder, that are asked what frameworks are spoken there
MAX_ANCESTORS = 7
SOURCE_FOLDERS = ("src", "lib")  # which many put on the path

_NEVER_OURS = frozenset(sys.stdlib_module_names) | FOREIGN | frozenset(("torch", "numpy", "torchvision", "torchaudio"))


class Project:
    """The modules that have been read so far. One object serves all files of a run; it holds trees, never facts,
    so the facts found for one file do not depend on the files checked before it.

    `opened` are the texts of files as an editor has them, by their absolute paths; they count over those on the disk.
    """

    def __init__(self, opened: Mapping[str, str] | None = None) -> None:
        self._opened = {} if opened is None else opened
        self._modules: dict[str, Module | None] = {}
        self._roots: dict[tuple[str, str], _Roots] = {}
        self._roots_around: dict[str, frozenset[str]] = {}  # what the modules of a folder import
        self._followed: set[str] = set()  # the modules that the file at hand has asked for, and the size of their text
        self._size_followed = 0
        self._missed: set[str] = set()  # what it has asked for, and is not there
        self._has_looked_at_files = False

    def module_at(self, path: str) -> Module | None:
        """The module at a path without its `.py`, or the package in that folder; None too where the file at hand has
        asked for so much that no more is followed, whether it was read before or not."""
        self._has_looked_at_files = True
        if path not in self._followed and self._size_followed > MAX_FOLLOWED:
            return None
        module = self._modules.pop(path) if path in self._modules else self._read(path)
        self._modules[path] = module  # the most recently used is the last
        if path not in self._followed:
            self._followed.add(path)
            self._size_followed += 0 if module is None else len(module.source.text)
        return module

    def forget(self, filename: str) -> None:
        """Drop a module whose text is another now."""
        for path in (filename.removesuffix(".py"), os.path.dirname(filename)):
            self._modules.pop(path, None)

    def begin_file(self) -> None:
        """Drop what has not been used for longest. Only between two files: within one, a module keeps its identity."""
        self._followed.clear()
        self._size_followed = 0
        self._missed.clear()
        self._has_looked_at_files = False
        kept = 0
        for path, module in reversed(list(self._modules.items())):
            kept += 100 if module is None else len(module.source.text)
            if kept > MAX_KEPT:
                del self._modules[path]
        if len(self._roots) > MAX_ROOTS:
            self._roots.clear()
            self._roots_around.clear()

    def _read(self, path: str) -> Module | None:
        for filename in (os.path.join(path, "__init__.py"), f"{path}.py", f"{path}.ipynb"):
            if filename in self._opened:
                return Module(source_of(self._opened[filename], filename, followed=True), self)
            try:
                # The outputs of a notebook may be large.
                data = read_regular(filename) if filename.endswith(".ipynb") else read_regular(filename, MAX_BYTES)
                return Module(source_of(data, filename, followed=True), self)
            except OSError as error:
                if error.errno == EFBIG:
                    return None
            except SourceError:
                return None  # its own check reports it
        return Module.namespace(path, self) if os.path.isdir(path) else None

    def roots_around(self, folder: str) -> frozenset[str]:
        """What the modules of a folder import, so far as a few of them show it."""
        self._has_looked_at_files = True
        if folder not in self._roots_around:
            names = sorted(name for name in _names_in(folder) if name.endswith(".py"))[:MAX_NEIGHBOURS]
            texts = (_text_of(os.path.join(folder, name)) for name in names)
            self._roots_around[folder] = frozenset[str]().union(*map(imported_roots, texts))
        return self._roots_around[folder]

    def find(self, dotted: str, folder: str) -> Module | None:
        """The module that `import dotted` means for a file in `folder`, if it belongs to the same repository."""
        root, *rest = dotted.split(".")
        if not root or root in _NEVER_OURS:
            return None
        roots = self._root_folders(root, folder)
        bases = roots.holding
        if not bases and rest:
            bases = [base for base in roots.of_folders if _holds_module(os.path.join(base, root, *rest[:-1]), rest[-1])]
        found = (self.module_at(os.path.join(base, root, *rest)) for base in bases)
        module = next((module for module in found if module is not None), None)
        if module is None:
            self._missed.add(dotted)
        return module

    @property
    def looked_for_in_vain(self) -> frozenset[str] | None:
        """The names of modules that the file at hand has asked for, where all that was asked of the repository is that
        they are not there; None where anything else was."""
        return None if self._has_looked_at_files else frozenset(self._missed)

    def modules_above(self, name: str, folder: str) -> Iterator[Module]:
        """The modules of this name in a folder and in those above it, the nearest first."""
        found = (self.module_at(os.path.join(base, name)) for base in _folders_above(folder))
        return (module for module in found if module is not None)

    def _root_folders(self, root: str, folder: str) -> _Roots:
        """The folders above the file (or their `src` or `lib`) that hold the package or module `root`, nearest first.

        What lies in a package is called after it: `garage` is not what `tests/garage` is in the package `tests`.
        """
        key = (root, folder)
        if key not in self._roots:
            holding: list[str] = []
            of_folders: list[str] = []
            for base in _search_folders(folder):
                if _holds_module(base, root):
                    holding.append(base)
                elif os.path.isdir(os.path.join(base, root)):
                    of_folders.append(base)
            holding.sort(key=lambda base: base != os.path.abspath(folder) and is_package(base))
            self._roots[key] = _Roots(holding, of_folders)
        return self._roots[key]


class _Roots(NamedTuple):
    """Where the first part of a dotted name is found."""

    holding: list[str]  # the folders that hold it as a module or package
    of_folders: list[str]  # those in which it holds no Python itself, as `src` may: not a module without a further part


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text_of(filename: str) -> str:
    try:
        return read_regular(filename, MAX_BYTES).decode("latin-1")
    except OSError:
        return ""


def _search_folders(folder: str) -> list[str]:
    found = []
    for base in _folders_above(folder):
        found += [base, *(os.path.join(base, name) for name in SOURCE_FOLDERS)]
    return found


def _folders_above(folder: str) -> Iterator[str]:
    """A folder and those above it, up to that of the repository."""
    current = os.path.abspath(folder)
    for _ in range(MAX_ANCESTORS):
        yield current
        parent = os.path.dirname(current)
        if parent == current or os.path.exists(os.path.join(current, ".git")):
            break
        current = parent


def _holds_module(folder: str, name: str) -> bool:
    path = os.path.join(folder, name)
    if os.path.isfile(f"{path}.py") or is_package(path):
        return True
    # A namespace package counts only where it holds Python itself: any folder may share a package's name.
    return any(entry.endswith(".py") for entry in _names_in(path))
