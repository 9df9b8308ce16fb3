"""Python imports this in the processes that a rehearsed program starts, whose PYTHONPATH names the folder.

It makes way for the one that it hides, if there is one, and waits until torch is imported, to begin there as well.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))
_VARIABLE = "TONUMPY_REHEARSAL"  # that of tonumpy.rehearsal.order, of which nothing is imported before torch is

sys.path[:] = [path for path in sys.path if os.path.abspath(path or os.curdir) != _HERE]
_OURS = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # type: ignore[import-not-found] # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "sitecustomize":
        raise
    sys.modules["sitecustomize"] = _OURS  # Python asks for it when it has been imported


class WaitForTorch(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            spec.loader = Then(spec.loader)
        return spec


class Then(importlib.abc.Loader):
    """Loads torch, and begins."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            from tonumpy.rehearsal.following import follow  # not before torch: start-up
        except ImportError:  # another Python, which does not have us
            return
        follow()


if _VARIABLE in os.environ:
    sys.meta_path.insert(0, WaitForTorch())
