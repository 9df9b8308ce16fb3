"""Begins something when a module has been imported, however that is looked for or loaded.

Of tonumpy nothing is imported: in a child process it may not be at hand.
"""

from __future__ import annotations

import copy
import importlib.abc
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class WaitForImport(importlib.abc.MetaPathFinder):
    """Stands before all other finders, and lets them find. Whoever only looks for the module does not use it up."""

    def __init__(self, name: str, begin: Callable[[], None]) -> None:
        self._name = name
        self._begin = begin
        self._asking = threading.local()

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self._name or getattr(self._asking, "now", False):
            return None
        self._asking.now = True
        others = (getattr(finder, "find_spec", None) for finder in list(sys.meta_path) if finder is not self)
        try:
            found = (find(fullname, path, target) for find in others if find is not None)
            spec: ModuleSpec | None = next((each for each in found if each is not None), None)
        finally:
            self._asking.now = False
        if spec is not None and spec.loader is not None:
            spec.loader = then(spec.loader, self._begin)
        return spec


def then(loader: importlib.abc.Loader, begin: Callable[[], None]) -> importlib.abc.Loader:
    """Wrap the loader in a subtype of its type that begins when it has loaded."""

    def exec_module(_: object, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = loader
        module.__loader__ = loader
        loader.exec_module(module)
        begin()

    kind = type(loader)
    found = copy.copy(loader)
    try:
        found.__class__ = type(kind.__name__, (kind,), {"exec_module": exec_module, "__module__": kind.__module__})
    except TypeError:  # a loader that is written in C; whoever waits is not told
        return loader
    return found
