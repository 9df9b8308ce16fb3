"""A project that records, for the current file, all questions to the disk and their answers (its read set).

An answer that is computed once counts for every file that uses it, also if a shared module knows it already: the read
set of a module counts for each file that follows it.
"""

from __future__ import annotations

import os
from errno import EFBIG
from typing import TYPE_CHECKING

from tonumpy.cache.known_repository import known_repository
from tonumpy.cache.module_fingerprint import fingerprint_of
from tonumpy.engine.names.lookups import FOLDER, TOO_LARGE, Content, Lookup, as_answer, content_of
from tonumpy.engine.names.project import Project
from tonumpy.engine.names.read_set import ReadSet
from tonumpy.engine.names.repository import Repositories
from tonumpy.text.reading import read_looked_at
from tonumpy.text.recursion import is_cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tonumpy.engine.names.folders import Roots
    from tonumpy.engine.names.module import Module
    from tonumpy.engine.names.repository import Read

_TESTS_SET_UP = "conftest"  # the module that is asked for in all folders above


class RecordedProject(Project):
    """A project whose `lookups` return the read set of the current file."""

    records = True

    def __init__(self, read: Read = known_repository) -> None:
        """`read` reads the repository with some top."""
        super().__init__()
        self.repositories = Repositories({}, read, self.note)
        self._noted: dict[tuple[str, ...], Sequence[object]] = {}
        self._asked: set[str] = set()  # the paths at which the file at hand wanted modules
        self._answers: dict[str, list[object]] = {}  # what was found there when it was last read
        self._contents: dict[str, list[list[object]]] = {}  # of a folder's neighbours, each with what it imports
        self._neighbours: list[Content] = []  # what was read since a folder was last gone through
        self._read_sets: dict[str, ReadSet] = {}  # of what is known at a path
        self._loaded: Content | str | None = None  # what the last file was that was to be read
        self._is_torn = False

    def note(self, kind: str, about: tuple[str, ...], answer: Sequence[object]) -> None:
        question = (kind, *about)  # mypy takes it for syntax of Python 3.11 where it stands in brackets
        self._noted[question] = answer

    def lookups(self, filename: str) -> tuple[Lookup, ...] | None:
        """What the file has asked; None where the answers do not go together, as a file was changed meanwhile, or where
        one depended on how deep the stack was."""
        self._asked |= self.followed.paths
        self.followed.begin_file()
        noted, asked, is_torn = self._noted, self._asked, self._is_torn
        self._noted, self._asked, self._is_torn = {}, set(), False
        folders, done = [os.path.dirname(os.path.abspath(filename)), *map(self._folder_of, asked)], set[str]()
        while folders:
            folder = folders.pop()
            if folder in done:
                continue
            done.add(folder)
            if folder in self._packages:
                noted["package", folder] = [self._packages[folder]]
                if self._packages[folder]:
                    folders.append(os.path.dirname(folder))
            if folder in self._contents:
                noted["around", folder] = [sorted(self._roots_around[folder]), self._contents[folder]]
            if folder in self._above:
                noted["above", folder] = list(self._above[folder])
                folders += self._above[folder]
                asked |= self._answers.keys() & {os.path.join(each, _TESTS_SET_UP) for each in self._above[folder]}
        parts = [Lookup("part", (path,), part) for path in asked for part in [self._part_of(path)] if part]
        for path in asked:
            self._read_sets[path].forget()
        if is_torn or any(is_cut(self._filename_at(path)) for path in asked):
            return None
        found = [Lookup("module", (path,), self._answers[path]) for path in asked]
        return (*found, *parts, *(Lookup(kind, tuple(about), answer) for (kind, *about), answer in noted.items()))

    def begin_file(self) -> None:
        self._asked |= self.followed.paths  # one file may be gone through several times
        super().begin_file()

    def roots_around(self, folder: str) -> frozenset[str]:
        is_new = folder not in self._roots_around
        self._neighbours = []
        found = super().roots_around(folder)
        if is_new:
            read = self._neighbours
            self._contents[folder] = [[*as_answer(each), sorted(self._imported[each.filename])] for each in read]
        return found

    def _read(self, path: str) -> Module | None:
        self._loaded = None
        module = super()._read(path)
        self._read_sets[path] = (module and module.read_set) or ReadSet()
        if isinstance(self._loaded, Content):
            answer = as_answer(self._loaded)
        else:
            answer = list[object]([FOLDER if self._loaded is None and module is not None else self._loaded])
        if path in self._asked or path in self.followed.paths:
            self._is_torn |= self._answers.get(path) != answer
            self._read_sets[path].is_all = True  # it was dropped meanwhile, and with it what had been read
        self._answers[path] = answer
        return module

    def _part_of(self, path: str) -> list[object] | None:
        module = self._modules.get(path)
        # Another module may hold a conftest that has been read anew since.
        is_held = os.path.basename(path) == _TESTS_SET_UP
        return None if module is None or is_held else fingerprint_of(module, self._read_sets[path])

    def _load(self, filename: str, most: int) -> bytes:
        try:
            data, found = read_looked_at(filename, most)
        except OSError as error:
            self._loaded = TOO_LARGE if error.errno == EFBIG else None
            self._neighbours.append(Content(filename, None, ""))
            raise
        self._loaded = content_of(filename, data, found)
        self._neighbours.append(self._loaded)
        return data

    def _root_folders(self, root: str, folder: str) -> Roots:
        roots = super()._root_folders(root, folder)
        self._noted["roots", root, folder] = [list(roots.holding), list(roots.of_folders)]
        return roots

    def _holds_module(self, folder: str, name: str) -> bool:
        holds = super()._holds_module(folder, name)
        self._noted["holds", folder, name] = [holds]
        return holds

    def _folder_of(self, path: str) -> str:
        return path if self._answers[path] == [FOLDER] else os.path.dirname(self._filename_at(path) or path)

    def _filename_at(self, path: str) -> str:
        filename, *rest = self._answers[path]
        return str(filename) if rest else ""
