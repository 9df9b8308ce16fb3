"""Where the host does nothing for a while, or waits for other processes -> the device has done all by then.

A pause is no synchronisation, and nobody should rely on one; but after a second no array that was measured was wrong.
"""

from __future__ import annotations

import asyncio
import functools
import time
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed

from tonumpy.rehearsal.standin import streams

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

_LONG = 0.1  # seconds


def patch(patches: Patches) -> None:
    """Notice them until `patches` are restored."""
    sleep = time.sleep
    sleep_of_loop: Any = asyncio.sleep

    @functools.wraps(sleep)
    def slept(seconds: Any) -> None:
        sleep(seconds)
        if seconds >= _LONG:
            streams.synchronize()

    @functools.wraps(sleep_of_loop)
    async def slept_in_loop(delay: Any, *args: Any, **kwargs: Any) -> Any:
        result = await sleep_of_loop(delay, *args, **kwargs)
        if delay >= _LONG:
            streams.synchronize()
        return result

    patches.replace(time, "sleep", slept)
    patches.replace(asyncio, "sleep", slept_in_loop)
    for name in ("barrier", "monitored_barrier"):
        if hasattr(torch.distributed, name):
            patches.replace(torch.distributed, name, _waiting(getattr(torch.distributed, name)))


def _waiting(function: Any) -> Any:
    @functools.wraps(function)
    def waited(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if not kwargs.get("async_op"):
            streams.synchronize()
        return result

    return waited
