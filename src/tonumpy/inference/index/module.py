"""One module of the repository: its tree, its names, and what is known of it as a whole."""

from __future__ import annotations

import ast
import os
from functools import cached_property

from tonumpy.inference.index.module_frameworks import Frameworks
from tonumpy.inference.index.module_names import Names, tree_of
from tonumpy.inference.index.module_use import Use, folder_of
from tonumpy.inference.index.module_words import Words
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol, TypeVar

    from tonumpy.inference.index.bindings import Import
    from tonumpy.inference.index.repository import Repositories
    from tonumpy.promises import OwnPromise

    _T = TypeVar("_T")
    _Node = TypeVar("_Node", bound=ast.AST)

    class Modules(Protocol):
        """What a module asks of the repository that it belongs to; project.py answers."""

        def module_at(self, path: str) -> Module | None: ...
        def find(self, dotted: str, folder: str) -> Module | None: ...
        def modules_above(self, name: str, folder: str) -> Iterator[Module]: ...
        def roots_around(self, folder: str) -> frozenset[str]: ...
        def is_package(self, folder: str) -> bool: ...
        @property
        def repositories(self) -> Repositories: ...


class Module:
    """The tree, what is derived from it, and four parts: `words`, `names`, `use` and `frameworks`.

    No part refers back to it, so that it goes as soon as the project drops it: nobody collects garbage during a run.
    """

    def __init__(
        self,
        source: Source,
        project: Modules,
        disabled_habits: frozenset[str] = frozenset(),
        promises: tuple[OwnPromise, ...] = (),
    ) -> None:
        self.source = source
        self.promises = promises  # those that hold where this module is checked
        self.disabled_habits = disabled_habits  # those that are not believed where this module is checked
        self.filename = source.filename
        self.project = project
        self.words = Words(source.text)
        self.names = Names(source)
        self.use = Use(source, self.names, self.words, project)
        self.frameworks = Frameworks(source, project)
        self._derived: dict[tuple[object, int | str], Any] = {}

    @classmethod
    def namespace(cls, folder: str, project: Modules) -> Module:
        """A folder without __init__.py: binds nothing, but has submodules."""
        return cls(Source.from_text("", os.path.join(folder, "__init__.py")), project)

    @cached_property
    def tree(self) -> ast.Module:
        return tree_of(self.source)

    @cached_property
    def folder(self) -> str:
        return folder_of(self.filename)

    @property
    def is_package(self) -> bool:
        return os.path.basename(self.filename) == "__init__.py"

    @cached_property
    def default_dtype(self) -> str | None:
        """The dtype that the module's own body sets, if nothing else in it sets another: `bfloat16`."""
        if not self.words.sets_one_default_dtype:
            return None
        values = [statement.value for statement in self.tree.body if isinstance(statement, ast.Expr)]
        calls = [value for value in values if isinstance(value, ast.Call) and value.args]
        return next((last_name(call.args[0]) for call in calls if last_name(call.func) == "set_default_dtype"), None)

    @cached_property
    def conftests(self) -> tuple[Module, ...]:
        """What pytest imports for it if it holds tests, the nearest first."""
        return tuple(self.project.modules_above("conftest", self.folder))

    def derived(self, work: Callable[[_Node], _T], node: _Node) -> _T:
        """What `work` makes of a node of this module's tree and of nothing else: worked out once for all files."""
        key = (work, id(node))
        if key not in self._derived:
            self._derived[key] = work(node)
        found: _T = self._derived[key]
        return found

    def derived_of(self, work: Callable[[Module, str], _T], name: str) -> _T:
        """What `work` makes of this module and a name in it, and of nothing else."""
        key = (work, name)
        if key not in self._derived:
            self._derived[key] = work(self, name)
        found: _T = self._derived[key]
        return found

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
