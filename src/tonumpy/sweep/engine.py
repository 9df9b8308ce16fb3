"""Requests in; replies out as they come, from the processes of a Dask cluster: one of our own, or one that is there."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
from importlib.util import find_spec
from multiprocessing import resource_tracker

import dask
from distributed import Client, LocalCluster, as_completed
from distributed.scheduler import KilledWorker

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sweep.messages import Failure, Reply
from tonumpy.sweep.worker import perform

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

    from distributed import Future

    from tonumpy.sweep.messages import Request

_DEATHS = 10  # of workers, while they have the same task, before it is given up: most die for reasons of their own
_AHEAD = 2  # tasks for each worker, so that none waits for the next
_SETTINGS = {
    "distributed.scheduler.allowed-failures": _DEATHS,
    "distributed.scheduler.work-stealing": False,  # tasks are handed out one by one
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}


class EngineGoneError(Exception):
    """There is no scheduler any more, or there never was."""


class Engine:
    """A context, in which `submit` hands over tasks and `replies` yields each with the token that it was given."""

    def __init__(self, scheduler: str | None, workers: int, scratch: str) -> None:
        self._scheduler = scheduler
        self._workers = workers
        self._scratch = scratch
        self._cluster: Any = None
        self._tokens: dict[Future, tuple[object, Request, int]] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Engine:
        # A terminal sends an interrupt to all processes; those that are started while it is blocked never see it.
        resource_tracker.ensure_running()  # a process of the standard library's, whose start ends such a blockade
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            self._stack.enter_context(dask.config.set(_SETTINGS))
            if self._scheduler is None:
                self._cluster = LocalCluster(
                    n_workers=self._workers,
                    threads_per_worker=1,
                    memory_limit=0,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                    local_directory=self._scratch,
                    silence_logs=logging.CRITICAL,
                )
            self._client = Client(self._cluster or self._scheduler, set_as_default=False)
        except OSError as error:  # TimeoutError is one
            self._stack.close()
            raise EngineGoneError(f"{self._scheduler or 'the own scheduler'}: {error}") from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        self._arrivals = as_completed(loop=self._client.loop)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._tokens))
        with contextlib.suppress(Exception):
            self.forget(self._scratch)
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)
        if self._cluster is not None:
            self._cluster.close(timeout=5)
        self._stack.close()

    @property
    def dashboard(self) -> str | None:
        """The address of the engine's own pages, if it has any."""
        has_pages = self._cluster is None or find_spec("bokeh") is not None  # whether another has, we cannot know
        return str(self._client.dashboard_link) if has_pages else None

    @property
    def wants_more(self) -> bool:
        workers: int = sum(self._client.ncores().values())
        return len(self._tokens) < _AHEAD * max(1, workers)

    @property
    def is_idle(self) -> bool:
        return not self._tokens

    def submit(self, token: object, request: Request, tries: int = 0) -> None:
        future = self._client.submit(perform, request, pure=False)
        self._tokens[future] = (token, request, tries)
        self._arrivals.add(future)

    def replies(self) -> Iterator[tuple[object, Reply]]:
        """Those of all that has been submitted, also meanwhile."""
        while self._tokens:
            future = next(self._arrivals)
            token, request, tries = self._tokens.pop(future)
            if future.status == "finished":
                yield token, future.result()
            elif future.status == "error":
                error = future.exception()
                if isinstance(error, KilledWorker) and tries == 0:
                    self.submit(token, request, 1)
                    continue
                reason = "its worker died again and again" if isinstance(error, KilledWorker) else f"{error!r}"
                yield token, Reply(request.commit, failure=Failure("engine", reason))
            else:
                self._tokens[future] = (token, request, tries)
                raise EngineGoneError(f"{self._scheduler or 'the own scheduler'}: went away")

    def left(self) -> list[object]:
        """The tokens of what was submitted and has not come back."""
        return [token for token, *_ in self._tokens.values()]

    def forget(self, folder: str) -> None:
        """Remove a folder on every machine."""
        self._client.run(_remove, folder)


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rmdir(folder)
