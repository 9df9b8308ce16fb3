"""Begins a rehearsal in a process, and makes the processes that it starts follow."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from contextlib import ExitStack, contextmanager

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.rehearsal.order import VARIABLE, order_of
from tonumpy.rehearsal.recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")


@contextmanager
def rehearsing(text: str) -> Iterator[Recorder]:
    """What an order asks for, in this process and in those that it starts; ImportError where there is no torch."""
    import torch  # noqa: F401 -- the user's own

    from tonumpy.rehearsal.standin import pretend  # with torch: start-up

    order = order_of(text)
    recorder = Recorder(order.folder)
    former = {name: os.environ.get(name) for name in (VARIABLE, "PYTHONPATH")}
    os.environ[VARIABLE] = text
    paths = [path for path in (former["PYTHONPATH"] or "").split(os.pathsep) if path not in ("", _CHILD)]
    os.environ["PYTHONPATH"] = os.pathsep.join([_CHILD, *paths])
    try:
        with pretend(order.device, recorder, stop=order.stop):
            yield recorder
    finally:
        for name, value in former.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def follow() -> None:
    """In a process that a rehearsed one has started: to begin as soon as torch is imported."""
    text = os.environ.get(VARIABLE)
    if text is not None and os.path.isdir(order_of(text).folder):
        sys.meta_path.insert(0, _WaitForTorch(text))


class _WaitForTorch(importlib.abc.MetaPathFinder):
    def __init__(self, text: str) -> None:
        self._text = text

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader, self._text)
        return spec


class _Then(importlib.abc.Loader):
    """Loads torch, and begins."""

    def __init__(self, loader: importlib.abc.Loader, text: str) -> None:
        self._loader, self._text = loader, text

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        import atexit

        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        stack = ExitStack()
        recorder = stack.enter_context(rehearsing(self._text))
        atexit.register(stack.close)
        atexit.register(recorder.end)
