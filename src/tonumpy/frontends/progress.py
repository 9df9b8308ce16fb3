"""Hands items on as they are; once it takes long, a bar on stderr shows how far they are."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    _T = TypeVar("_T")

PATIENCE = 1.0  # seconds


def with_progress(items: Iterable[_T], total: int) -> Iterator[_T]:
    start = monotonic()
    bar = None
    try:
        for done, item in enumerate(items):
            if bar is not None:
                bar.update()
            elif monotonic() - start > PATIENCE:
                from tqdm import tqdm  # not before it is needed: most runs are over by then

                tqdm.monitor_interval = 0  # its thread would make forking unsafe
                bar = tqdm(total=total, initial=done + 1, unit="file", leave=False)
            yield item
    finally:
        if bar is not None:
            bar.close()
