"""Replaces streams, events and graphs of the device: tracks each thread's current stream, and when the host waits.

All work is done at once, nothing is queued: any wait counts as a wait for everything. A pause is no synchronisation,
and nobody should rely on one; but it counts, as after a second no measured array was wrong. The work that a CUDA graph
captures runs once, at the capture.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed

from tonumpy.rehearsal.standin.marks import STATE
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.reporting import warn

_LOWEST, _HIGHEST = 0, -5  # the priorities of a GPU of today


class _Queued:
    """The common base of streams and events; their work is always done."""

    device_index: int
    _at = 1.0  # the time of its work; 0 if there is none

    @property
    def device(self) -> torch.device:
        """The device that it belongs to."""
        return torch.device(STATE.kind, self.device_index)

    def synchronize(self) -> None:
        """Let the host wait for it, if it has work."""
        if self._at:
            synchronize()

    def query(self) -> bool:
        """True, as its work is done; counts as a wait, as the program then knows that."""
        self.synchronize()
        return True

    def wait(self, *others: Any) -> None:
        """Let a stream wait, not the host: does nothing."""


class Stream(_Queued):
    """A stream, whose work is always done."""

    _numbers = iter(range(1, 2**62))
    wait_stream = wait_event = _Queued.wait

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        del options
        self.priority = min(_LOWEST, max(_HIGHEST, priority))
        self.stream_id = self.cuda_stream = self.sycl_queue = next(self._numbers)
        place = STATE.place(device)
        self.device_index = STATE.here.number if place is None else place.index

    def __repr__(self) -> str:
        return f"<torch.{self.device.type}.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest priority."""
        return _LOWEST, _HIGHEST

    def is_capturing(self) -> bool:
        """False: no graph is being captured. Optimizers ask."""
        return False

    def record_event(self, event: Any = None) -> Any:
        """Record the event, or a new one, and return it."""
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        """Make the stream current on its device, and the device current."""
        STATE.here.streams.append((self, STATE.here.number))
        STATE.here.number = self.device_index
        return self

    def __exit__(self, *error: object) -> None:
        _, STATE.here.number = STATE.here.streams.pop()


class Event(_Queued):
    """An event: the time at which it was recorded."""

    def __init__(self, enable_timing: bool = False, **options: Any) -> None:
        del enable_timing, options
        self._at = 0.0
        self.event_id = self.cuda_event = 0
        self.device_index = STATE.here.number

    def __repr__(self) -> str:
        return f"<torch.{self.device.type}.Event {hex(self.event_id) if self._at else 'uninitialized'}>"

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        self._at = time.perf_counter()
        self.device_index = (stream or current()).device_index

    def elapsed_time(self, end: Event) -> float:
        """The milliseconds to another event."""
        return (end._at - self._at) * 1000.0


def stream(stream: Any = None) -> Stream:
    """The context manager of `with torch.cuda.stream(...)`: the stream itself."""
    return stream or current()


waiting: list[Callable[[], None]] = []  # called when the host waits


def synchronize(device: Any = None) -> None:
    """Let the host wait for all work of the devices."""
    del device
    for act in waiting:
        act()


@functools.cache
def _default(number: int) -> Stream:
    made = Stream(number)
    made.stream_id = made.cuda_stream = made.sycl_queue = 0
    return made


def default(number: int | None = None) -> Stream:
    """The default stream of a device, by default the current one."""
    return _default(STATE.here.number if number is None else number)


def current(number: int | None = None) -> Stream:
    """The current stream of this thread on a device, by default the current one."""
    number = STATE.here.number if number is None else number
    return next((each for each, _ in reversed(STATE.here.streams) if each.device_index == number), None) or default(
        number
    )


def set_current(stream: Stream | None) -> None:
    """Make a stream the current one of this thread; None changes nothing."""
    if stream is not None:
        STATE.here.streams[-1:] = [(stream, STATE.here.number)]
        STATE.here.number = stream.device_index


_LONG = 0.1  # seconds, from which on a pause counts as a wait


def patch(patches: Patches) -> None:
    """Patch `time.sleep` and the barriers, which count as waits, and `torch.cuda.CUDAGraph`."""
    if STATE.kind == "cuda":
        _patch_graphs(patches)
    patches.around(time, "sleep", _slept)
    for name in ("barrier", "monitored_barrier"):
        if hasattr(torch.distributed, name):
            patches.around(torch.distributed, name, _joined)


def _slept(sleep: Any, seconds: Any) -> None:
    sleep(seconds)
    if seconds >= _LONG:
        synchronize()


def _joined(barrier: Any, *args: Any, **kwargs: Any) -> Any:
    result = barrier(*args, **kwargs)
    if not kwargs.get("async_op"):
        synchronize()
    return result


def _patch_graphs(patches: Patches) -> None:
    replaced: dict[str, Any] = {
        "CUDAGraph": CUDAGraph,
        "graph": lambda *args, **options: nullcontext(),  # noqa: ARG005
        "graph_pool_handle": lambda: (0, 0),
        "make_graphed_callables": lambda callables, *args, **options: callables,  # noqa: ARG005
    }
    for owner in (torch.cuda, torch.cuda.graphs):
        for name, value in replaced.items():
            patches.replace(owner, name, value)


class CUDAGraph:
    """A captured graph: the captured work runs at the capture, and every method does nothing."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Keep nothing."""

    def replay(self) -> None:
        """Warn; the results stay those of the capture."""
        warn("torch.cuda.CUDAGraph: a replay computes nothing on a stand-in accelerator")

    def __getattr__(self, name: str) -> Any:
        """A method that does nothing, for `reset`, `pool` and the printing ones."""
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **options: (0, 0)  # noqa: ARG005 -- the handle of the memory
