"""CUDA graphs -> what is captured runs at once, and once more each time that the graph is replayed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches) -> None:
    """Let `torch.cuda.CUDAGraph` be had until `patches` are restored."""
    for owner in (torch.cuda, torch.cuda.graphs):
        for name, value in (("CUDAGraph", CUDAGraph), ("graph", _capture), ("graph_pool_handle", lambda: (0, 0))):
            patches.replace(owner, name, value)
        patches.replace(owner, "make_graphed_callables", _make_graphed_callables)


class _Recording(TorchDispatchMode):  # type: ignore[misc]
    """Keeps each operator that runs, with what it was given and gave."""

    def __init__(self, calls: list[tuple[Any, Any, Any, Any]]) -> None:
        super().__init__()
        self._calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run it."""
        del types
        result = func(*args, **(kwargs or {}))
        self._calls.append((func, args, kwargs or {}, result))
        return result


class CUDAGraph:
    """A captured graph."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ARG002
        self._calls: list[tuple[Any, Any, Any, Any]] = []
        self._recording: _Recording | None = None

    def capture_begin(self, *args: Any, **options: Any) -> None:  # noqa: ARG002
        """Operators are kept from now on."""
        self._calls.clear()
        self._recording = _Recording(self._calls)
        self._recording.__enter__()

    def capture_end(self) -> None:
        """They are no more."""
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.__exit__(None, None, None)

    def replay(self) -> None:
        """Run them again, into the memory of the first time."""
        with torch.no_grad():
            for func, args, kwargs, old in self._calls:
                _written(old, func(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        """`reset`, `pool` and what prints do nothing."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args: (0, 0)  # noqa: ARG005 -- the handle of the memory


@contextmanager
def _capture(cuda_graph: CUDAGraph, *args: Any, **options: Any) -> Iterator[None]:  # noqa: ARG001
    """`with torch.cuda.graph(graph):`."""
    cuda_graph.capture_begin()
    try:
        yield
    finally:
        cuda_graph.capture_end()


def _written(old: Any, new: Any) -> None:
    if isinstance(old, torch.Tensor):
        if old.data_ptr() != new.data_ptr():  # else it is a view, or was written in place
            old.copy_(new)
    elif isinstance(old, (tuple, list)):
        for one, other in zip(old, new, strict=True):
            _written(one, other)


def _make_graphed_callables(callables: Any, *args: Any, **options: Any) -> Any:  # noqa: ARG001
    """The callables themselves: run as they are, they give the same."""
    return callables
