"""A module of the repository: its tree, names and text, and what is derived from these once for all files."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Protocol, TypeVar

from tonumpy.engine.names.bindings import Import
from tonumpy.engine.names.follow_budget import Followed
from tonumpy.engine.names.frameworks import Frameworks
from tonumpy.engine.names.memo import Memo
from tonumpy.engine.names.module_names import Names, tree_of
from tonumpy.engine.names.module_use import Use, folder_of
from tonumpy.engine.names.module_words import Words
from tonumpy.engine.names.repository import Repositories
from tonumpy.own_functions import OwnPromise, OwnSink
from tonumpy.text.source import Source

_T = TypeVar("_T")
_Node = TypeVar("_Node", bound=ast.AST)


class Modules(Protocol):
    """The repository that a module belongs to; implemented in project.py."""

    def module_at(self, path: str) -> Module | None: ...
    def find(self, dotted: str, folder: str) -> Module | None: ...
    def modules_above(self, name: str, folder: str) -> Iterator[Module]: ...
    def roots_around(self, folder: str) -> frozenset[str]: ...
    def is_package(self, folder: str) -> bool: ...
    @property
    def followed(self) -> Followed: ...
    @property
    def repositories(self) -> Repositories: ...


class Module:
    """The tree, what is derived from it, and four parts: `words`, `names`, `use` and `frameworks`.

    No part refers back to it, so that it is freed when the project drops it: the garbage collector is off during a run.
    """

    def __init__(
        self,
        source: Source,
        project: Modules,
        disabled_habits: frozenset[str] = frozenset(),
        promises: tuple[OwnPromise, ...] = (),
        sinks: tuple[OwnSink, ...] = (),
    ) -> None:
        self.source = source
        self.promises = promises  # those that hold where this module is checked
        self.sinks = sinks  # the same
        self.disabled_habits = disabled_habits  # those that are not believed where this module is checked
        self.tells_origins = False  # whether `tonumpy why` needs the line behind each fact
        self.filename = source.filename
        self.project = project
        self._derived = Memo()
        self.words = Words(source.text)
        self.names = Names(source, self._derived)
        self.use = Use(source, self.names, self.words, project)
        self.frameworks = Frameworks(source, project)

    @classmethod
    def namespace(cls, folder: str, project: Modules) -> Module:
        """The module of a folder without __init__.py: it binds nothing, but has submodules."""
        return cls(Source.from_text("", os.path.join(folder, "__init__.py")), project)

    @cached_property
    def tree(self) -> ast.Module:
        return tree_of(self.source)

    @property
    def is_notebook(self) -> bool:
        return self.source.cell_rows is not None

    @property
    def is_parsed(self) -> bool:
        return "tree" in self.source.__dict__

    @cached_property
    def folder(self) -> str:
        return folder_of(self.filename)

    @property
    def is_package(self) -> bool:
        return os.path.basename(self.filename) == "__init__.py"

    @cached_property
    def conftests(self) -> tuple[Module, ...]:
        """The conftest modules that pytest imports for a test module here, nearest first."""
        return tuple(self.project.modules_above("conftest", self.folder))

    def derived(self, work: Callable[[_Node], _T], node: _Node) -> _T:
        """The result of `work(node)`, computed once for all files; it must depend on nothing but the node."""
        return self._derived.of((work, id(node)), work, node)

    def submodule(self, name: str) -> Module | None:
        return self.project.module_at(os.path.join(self.folder, name)) if self.is_package else None

    def resolve(self, imported: Import) -> Module | None:
        """The module of the repository that an import names (`from` part only), or None."""
        if imported.level:
            folder = self.folder
            for _ in range(imported.level - 1):
                folder = os.path.dirname(folder)
            path = os.path.join(folder, *imported.module.split(".")) if imported.module else folder
            return self.project.module_at(path)
        return self.project.find(imported.module, self.folder)
