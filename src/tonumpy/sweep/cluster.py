"""Runs the tasks of a sweep on a Dask cluster, our own or one that is there, and yields replies as they come."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
import urllib.request
from asyncio import CancelledError
from concurrent.futures import CancelledError as FutureCancelled
from typing import TYPE_CHECKING

import dask
from distributed import Client, LocalCluster, as_completed
from distributed.client import ClosedClientError
from distributed.scheduler import KilledWorker

from tonumpy.sweep.folders import remove_folder
from tonumpy.sweep.messages import Failure, Reply
from tonumpy.sweep.worker import run_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

    from distributed import Future

    from tonumpy.sweep.messages import Request, Target

_GLANCE = 0.02  # seconds between two looks at what has come
_RECOUNT = 2.0  # seconds between two questions how many workers there are
_AHEAD = 2  # tasks for each worker, so that none waits for the next
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 10,  # deaths of workers: most die for reasons of their own
    "distributed.scheduler.work-stealing": False,  # tasks are handed out one by one
}


class ClusterGoneError(Exception):
    """There is no scheduler any more, or there never was."""


class Cluster:
    """A context, in which `submit` hands over tasks and `replies` yields each with its request."""

    def __init__(self, scheduler: str | None, workers: int, scratch: str) -> None:
        self._scheduler = scheduler
        self._count = workers
        self._counted = 0.0
        self._scratch = scratch
        self._requests: dict[Future, Request] = {}
        self._workers: subprocess.Popen[bytes] | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Cluster:
        for name in ("distributed", "asyncio"):  # which tell of what nobody waits for once the run is interrupted
            logging.getLogger(name).setLevel(logging.CRITICAL)
        os.makedirs(self._scratch, mode=0o700, exist_ok=True)
        self._stack.callback(remove_folder, self._scratch)
        self._stack.enter_context(dask.config.set({**_SETTINGS, "temporary-directory": self._scratch}))
        try:
            address = self._scheduler or self._start()
            self._client = Client(address, set_as_default=False)
        except OSError as error:  # TimeoutError is one
            self._stack.close()
            raise ClusterGoneError(f"{self._name}: {error}") from error
        self._arrivals = as_completed(loop=self._client.loop)
        return self

    def _start(self) -> str:
        """Start a scheduler in this process and the workers in one other, which replaces those that die.

        The workers' session of their own keeps the interrupt of a terminal from them, and their folder is ours: `python
        -m` imports what lies in the folder at hand.
        """
        cluster = LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
        )
        self._stack.callback(cluster.close, timeout=5)
        address = str(cluster.scheduler_address)
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nworkers", str(self._count)]
        command += ["--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--local-directory", self._scratch]
        self._workers = subprocess.Popen(
            command,
            cwd=self._scratch,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._stack.callback(self._stop_workers, self._workers)
        return address

    def _stop_workers(self, workers: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(OSError):
            os.killpg(workers.pid, signal.SIGKILL)
        workers.wait()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._requests))
        if self._workers is None:
            with contextlib.suppress(Exception):
                self._client.run(remove_folder, self._scratch)
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)
        self._stack.close()

    @property
    def _name(self) -> str:
        return self._scheduler or "the own scheduler"

    @property
    def dashboard(self) -> str | None:
        """The address of Dask's own pages, where there are any."""
        address = str(self._client.dashboard_link)
        return address if is_served(address) else None

    @property
    def wants_more(self) -> bool:
        if self._scheduler is not None and time.monotonic() - self._counted > _RECOUNT:
            with self._reaching():
                self._count = max(1, sum(self._client.ncores().values()))
            self._counted = time.monotonic()
        return len(self._requests) < _AHEAD * self._count

    def submit(self, request: Request) -> None:
        with self._reaching():
            future = self._client.submit(run_task, request, pure=False)
            self._requests[future] = request
            self._arrivals.add(future)

    def replies(self) -> Iterator[tuple[Target, Reply]]:
        """The replies to all that has been submitted, also meanwhile."""
        while self._requests:
            batch = self._arrivals.next_batch(block=False)
            if not batch:
                if self._workers is not None and self._workers.poll() is not None:
                    raise ClusterGoneError("its workers cannot be kept alive")
                time.sleep(_GLANCE)
            for future in batch:
                with self._reaching():
                    reply = self._reply(future)
                yield self._requests.pop(future).target, reply

    def _reply(self, future: Future) -> Reply:
        if future.status not in ("finished", "error"):
            raise ClusterGoneError(f"{self._name}: went away")
        try:
            reply: Reply = future.result()
        except KilledWorker:
            return Reply(failure=Failure("engine", "its worker died again and again"))
        except (OSError, CancelledError, FutureCancelled, ClosedClientError):
            raise
        except Exception as error:
            return Reply(failure=Failure("engine", repr(error)))
        return reply

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """Whatever asks the scheduler may be the first to find that it is gone."""
        try:
            yield
        except (OSError, CancelledError, FutureCancelled, ClosedClientError) as error:  # OSError: a closed connection
            raise ClusterGoneError(f"{self._name}: went away") from error

    def left(self) -> list[Target]:
        """The targets that were submitted and have not come back."""
        return [request.target for request in self._requests.values()]


def is_served(address: str) -> bool:
    """True if there is a dashboard: without Bokeh, the scheduler has but a page that says so."""
    direct: Any = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with contextlib.closing(direct.open(address, timeout=_RECOUNT)) as answer:
            return b"Dask needs bokeh" not in answer.read(1000)
    except (OSError, ValueError):  # HTTPError is one
        return False
