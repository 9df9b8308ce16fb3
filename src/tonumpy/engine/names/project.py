"""Finds modules of a repository by dotted name or path; each file is read at most once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tonumpy.engine.names.folders import Folders, Roots, files_of_module, most_bytes
from tonumpy.engine.names.follow_budget import Followed
from tonumpy.engine.names.frameworks import FOREIGN, roots_in
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.reads import ABSENT, Reads, ReadSet, digest_of
from tonumpy.engine.names.repository import Repositories
from tonumpy.findings import SourceError
from tonumpy.text.reading import read_regular
from tonumpy.text.sources import source_of

MAX_KEPT = 1_500_000  # characters of parsed text that a process keeps; a third of it: 22 MB less, a third more time
_UNPARSED = 20  # times as many characters of unparsed modules are kept
MAX_ROOTS = 10_000

_NEVER_OURS = frozenset(sys.stdlib_module_names) | FOREIGN | frozenset(("torch", "numpy", "torchvision", "torchaudio"))


def is_of_library(root: str) -> bool:
    """True if the root of a dotted name is a well-known library's, even if the repository has a module of that name."""
    return root in _NEVER_OURS


def path_of_module(filename: str) -> str:
    """The absolute path of a module without its suffix; for a package, its folder."""
    path = os.path.abspath(filename)
    folder, name = os.path.split(path)
    return folder if name == "__init__.py" else os.path.splitext(path)[0]


class Project:
    """The modules that have been read so far. One object serves all files of a run; it holds trees, never facts, so
    that the facts of one file do not depend on the files checked before it.
    """

    def __init__(self, *, records: bool = False) -> None:
        """With `records`, `read_set` returns what the current file has read."""
        self.reads = Reads(records=records)
        self._folders = Folders(self.reads)
        self._modules: dict[str, Module | None] = {}
        self._roots: dict[tuple[str, str], Roots] = {}
        self._roots_around: dict[str, frozenset[str]] = {}  # what the modules of a folder import
        self._packages: dict[str, bool] = {}  # the folders, and whether they are packages
        self._above: dict[str, tuple[str, ...]] = {}  # the folders, and those above them in the repository
        self.repositories = Repositories(self.reads)
        self.at_hand: dict[str, Module] = {}  # the module under check, by its path: importers share it
        self.followed = Followed()  # the modules that the current file used

    def module_at(self, path: str) -> Module | None:
        """The module at a path without its `.py`, the package in that folder, or the stub whose path ends with `.pyi`.
        None also if the current query's budget is used up, whether the module was read before or not."""
        if path in self.at_hand:
            return self.at_hand[path]
        if not self.followed.may_follow(path):
            return None
        if path in self._modules:
            self.reads.repeat(("module", path))
            module = self._modules.pop(path)
        else:
            module = self.reads.during(("module", path), self._read, path)
        self._modules[path] = module  # the most recently used is the last
        self.followed.note(path, 0 if module is None else _length(module))
        return module

    def read_set(self) -> ReadSet | None:
        """The disk reads of the current file; None if a result must not be cached by them."""
        return self.reads.taken()

    def begin_file(self) -> None:
        """Drop the least recently used modules. Only between two files: within one, a module keeps its identity."""
        self.at_hand.clear()
        self.followed.begin_file()
        kept = 0
        for path, module in reversed(list(self._modules.items())):
            kept += 100 if module is None else _length(module) // (1 if module.is_parsed else _UNPARSED)
            if kept > MAX_KEPT:
                del self._modules[path]
        if len(self._roots) > MAX_ROOTS:
            self._roots.clear()

    def _read(self, path: str) -> Module | None:
        for filename in files_of_module(path):
            try:
                return Module(source_of(self._load(filename), filename), self)
            except OSError as error:
                if not isinstance(error, FileNotFoundError):
                    return None
            except SourceError:
                return None  # its own check reports it
        return Module.namespace(path, self) if self._folders.is_folder(path) else None

    def _load(self, filename: str) -> bytes:
        """Read a file; OSError if there is none, or it is too large to be followed."""
        try:
            data = read_regular(filename, most_bytes(filename))
        except OSError:
            self.reads.note("content", filename, ABSENT)
            raise
        if self.reads.records:
            self.reads.note("content", filename, digest_of([data]))
        return data

    def roots_around(self, folder: str) -> frozenset[str]:
        """The imported roots of the first modules of a folder (MAX_NEIGHBOURS)."""
        if folder in self._roots_around:
            self.reads.repeat(("around", folder))
        else:
            self._roots_around[folder] = self.reads.during(("around", folder), self._find_roots_around, folder)
        return self._roots_around[folder]

    def _find_roots_around(self, folder: str) -> frozenset[str]:
        found = frozenset[str]()
        for name in self._folders.neighbours(folder):
            with suppress(OSError):
                found |= roots_in(self._load(name))
        return found

    def find(self, dotted: str, folder: str) -> Module | None:
        """The module that `import dotted` means for a file in `folder`, if it belongs to the same repository."""
        root, *rest = dotted.split(".")
        if not root or is_of_library(root):
            return None
        roots = self._root_folders(root, folder)
        bases: Sequence[str] = roots.holding
        if not bases and rest:
            *between, name = rest
            inner = ((base, os.path.join(base, root, *between)) for base in roots.of_folders)
            bases = [base for base, folder in inner if self._folders.holds_module(folder, name)]
        found = (self.module_at(os.path.join(base, root, *rest)) for base in bases)
        return next((module for module in found if module is not None), None)

    def modules_above(self, name: str, folder: str) -> Iterator[Module]:
        """The modules of this name in a folder and in those above it, the nearest first."""
        if folder in self._above:
            self.reads.repeat(("above", folder))
        else:
            self._above[folder] = self.reads.during(("above", folder), tuple, self._folders.above(folder))
        found = (self.module_at(os.path.join(base, name)) for base in self._above[folder])
        return (module for module in found if module is not None)

    def is_package(self, folder: str) -> bool:
        if folder in self._packages:
            self.reads.repeat(("package", folder))
        else:
            self._packages[folder] = self.reads.during(("package", folder), self._folders.is_package, folder)
        return self._packages[folder]

    def _root_folders(self, root: str, folder: str) -> Roots:
        key = (root, folder)
        if key in self._roots:
            self.reads.repeat(("roots", *key))
        else:
            self._roots[key] = self.reads.during(("roots", *key), self._folders.roots, root, folder)
        return self._roots[key]


def _length(module: Module) -> int:
    return len(module.source.text) + 500  # an empty module has a cost too
