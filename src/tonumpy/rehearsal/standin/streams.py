"""Streams and events of the device: which is current in a thread, and what had been queued when something waited.

Nothing is queued here, as all is done at once: each stream counts its copies, so that one can say which of them a
synchronisation has waited for. A pause is no synchronisation, and nobody should rely on one; but after a second no
array that was measured was wrong.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed

from tonumpy.rehearsal.standin.state import STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

_LOWEST, _HIGHEST = 0, -5  # the priorities of a GPU of today


class Stream:
    """A queue. What it is given has always been done."""

    device: Any = None  # set to the stand-in below
    _numbers = iter(range(1, 2**62))

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        del options
        self.priority = min(_LOWEST, max(_HIGHEST, priority))
        self.stream_id = self.cuda_stream = self.sycl_queue = next(self._numbers)
        self.device_index = _index(device)
        self.copies = 0  # how many were begun on it
        self.waited: dict[Stream, int] = {}  # how many of others it lets finish before it goes on

    def __repr__(self) -> str:
        return f"<torch.{self.device.type}.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """The lowest and the highest."""
        return _LOWEST, _HIGHEST

    def synchronize(self) -> None:
        """Let the host wait."""
        told_of(self, self.copies)

    def wait_stream(self, stream: Stream) -> None:
        """Let this stream wait, and not the host."""
        self._wait(stream, stream.copies)

    def wait_event(self, event: Event) -> None:
        """Let this stream wait, and not the host."""
        if event.stream is not None:
            self._wait(event.stream, event.copies)

    def _wait(self, stream: Stream, copies: int) -> None:
        if stream is self:
            return
        for each, number in ((stream, copies), *stream.waited.items()):
            self.waited[each] = max(number, self.waited.get(each, 0))

    def query(self) -> bool:
        """True, as all is done; whoever asks knows that now."""
        self.synchronize()
        return True

    def is_capturing(self) -> bool:
        """True if a graph is being captured."""
        return False

    def record_event(self, event: Any = None) -> Any:
        """The event, recorded."""
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        _enter(self)
        return self

    def __exit__(self, *error: object) -> None:
        _leave()


class Event:
    """A moment."""

    device: Any = None  # set to the stand-in below

    def __init__(self, enable_timing: bool = False, **options: Any) -> None:
        del enable_timing, options
        self._at = 0.0
        self.event_id = self.cuda_event = 0
        self.device_index = STATE.here.number
        self.stream: Stream | None = None
        self.copies = 0  # of that stream, up to here

    def __repr__(self) -> str:
        return f"<torch.{self.device.type}.Event {'uninitialized' if self.stream is None else hex(self.event_id)}>"

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        self._at = time.perf_counter()
        self.stream = stream or current()
        self.copies, self.device_index = self.stream.copies, self.stream.device_index

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds to another moment."""
        return (end._at - self._at) * 1000.0

    def synchronize(self) -> None:
        """Let the host wait until it has passed."""
        if self.stream is not None:
            told_of(self.stream, self.copies)

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait."""
        (stream or current()).wait_event(self)

    def query(self) -> bool:
        """True, as all is done; whoever asks knows that now."""
        self.synchronize()
        return True


class StreamContext:
    """`with torch.cuda.stream(...)`."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = stream

    def __enter__(self) -> Any:
        _enter(self.stream or current())
        return self.stream

    def __exit__(self, *error: object) -> None:
        _leave()


def _index(device: Any) -> int:
    """The number of a device as a program may name it; the current one's, where it gives none."""
    if isinstance(device, str):
        device = device.partition(":")[2] or None
    index = getattr(device, "index", device) if device is not None else None
    return STATE.here.number if index is None or callable(index) else int(index)


_defaults: dict[int, Stream] = {}
_here = threading.local()
# Called with a stream that the host has waited for (None: all), and how many of its copies have been made.
_waiting: list[Callable[[Stream | None, int], None]] = []


def on_wait(act: Callable[[Stream | None, int], None]) -> Callable[[], None]:
    """Have this called, until what is given back is."""
    _waiting.append(act)
    return lambda: _waiting.remove(act)


def told_of(stream: Stream, copies: int) -> None:
    """The host has waited for that many copies of a stream, and for what these had to wait for."""
    for act in _waiting:
        for each, number in ((stream, copies), *stream.waited.items()):
            act(each, number)


def synchronize(device: Any = None) -> None:
    """The host waits for all that the device has to do."""
    del device
    for act in _waiting:
        act(None, 0)


def default(number: int | None = None) -> Stream:
    """That of a device on which nobody has chosen another."""
    number = STATE.here.number if number is None else number
    if number not in _defaults:
        made = Stream(number)
        made.stream_id = made.cuda_stream = made.sycl_queue = 0
        return _defaults.setdefault(number, made)
    return _defaults[number]


def current(number: int | None = None) -> Stream:
    """That of this thread, on a device."""
    number = STATE.here.number if number is None else number
    return next((each for each, _ in reversed(_stack()) if each.device_index == number), None) or default(number)


def set_current(stream: Stream | None) -> None:
    """Make it that of this thread."""
    if stream is not None:
        _stack()[-1:] = [(stream, STATE.here.number)]
        STATE.here.number = stream.device_index


def _enter(stream: Stream) -> None:
    """The stream is current on its device, which is the current one."""
    _stack().append((stream, STATE.here.number))
    STATE.here.number = stream.device_index


def _leave() -> None:
    _, STATE.here.number = _stack().pop()


def _stack() -> list[tuple[Stream, int]]:
    """Each stream, and the device that was current before it."""
    stack: list[tuple[Stream, int]] | None = getattr(_here, "stack", None)
    if stack is None:
        stack = _here.stack = []
    return stack


_LONG = 0.1  # seconds


def patch(patches: Patches) -> None:
    """Notice them until `patches` are restored."""
    patches.around(time, "sleep", _slept)
    sleep: Any = asyncio.sleep

    @functools.wraps(sleep)
    async def slept_in_loop(delay: Any, *args: Any, **kwargs: Any) -> Any:
        result = await sleep(delay, *args, **kwargs)
        if delay >= _LONG:
            synchronize()
        return result

    patches.replace(asyncio, "sleep", slept_in_loop)
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
