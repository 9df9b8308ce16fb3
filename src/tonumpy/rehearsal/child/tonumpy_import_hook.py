"""Calls a function once a module has been imported, whichever finder and loader import it.

Imports nothing of tonumpy, which may not be importable in a child process.
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
    """The first finder of `sys.meta_path`; it delegates to the others and wraps the loader that they return. A mere
    `importlib.util.find_spec` does not trigger it."""

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
    """Return a copy of the loader, of a subtype, that calls `begin` after it has executed the module."""

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
    except TypeError:  # a loader written in C: `begin` is not called
        return loader
    return found
