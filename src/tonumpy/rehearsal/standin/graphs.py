"""CUDA graphs -> what is captured runs at once, and once more each time that the graph is replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches) -> None:
    """Let `torch.cuda.CUDAGraph` be had until `patches` are restored."""
    for owner in (torch.cuda, torch.cuda.graphs):
        for name, value in (("CUDAGraph", CUDAGraph), ("graph", _Capture), ("graph_pool_handle", lambda: (0, 0))):
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

    def __init__(self, *args: Any, **options: Any) -> None:
        del args, options
        self._calls: list[tuple[Any, Any, Any, Any]] = []
        self._recording: _Recording | None = None

    def capture_begin(self, *args: Any, **options: Any) -> None:
        """Operators are kept from now on."""
        del args, options
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

    def reset(self) -> None:
        """Forget them."""
        self._calls.clear()

    def pool(self) -> tuple[int, int]:
        """The handle of the memory."""
        return 0, 0

    def enable_debug_mode(self) -> None:
        """Nothing is to be printed."""

    def debug_dump(self, path: str) -> None:
        """Nothing is to be printed."""


class _Capture:
    """`with torch.cuda.graph(graph):`."""

    def __init__(self, cuda_graph: CUDAGraph, *args: Any, **options: Any) -> None:
        del args, options
        self._graph = cuda_graph

    def __enter__(self) -> None:
        self._graph.capture_begin()

    def __exit__(self, *error: object) -> None:
        self._graph.capture_end()


def _written(old: Any, new: Any) -> None:
    if isinstance(old, torch.Tensor):
        if old.data_ptr() != new.data_ptr():  # else it is a view, or was written in place
            old.copy_(new)
    elif isinstance(old, (tuple, list)):
        for one, other in zip(old, new, strict=True):
            _written(one, other)


def _make_graphed_callables(callables: Any, *args: Any, **options: Any) -> Any:
    """The callables themselves: run as they are, they give the same."""
    del args, options
    return callables
