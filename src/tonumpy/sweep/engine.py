"""Runs tasks in the processes of a Dask cluster, our own or one that is there, and yields replies as they come."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from asyncio import CancelledError
from asyncio import TimeoutError as TimedOut  # before Python 3.11 a class of its own
from concurrent.futures import CancelledError as FutureCancelled
from typing import TYPE_CHECKING

import dask
from distributed import Client, LocalCluster, as_completed
from distributed.client import ClosedClientError
from distributed.scheduler import KilledWorker

from tonumpy.boundary.output import open_to_append
from tonumpy.sweep.messages import Failure, Reply
from tonumpy.sweep.scratch import all_places, remove_own
from tonumpy.sweep.worker import perform

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any

    from distributed import Future

    from tonumpy.sweep.messages import Request

_DEATHS = 10  # of workers, while they have the same task, before it is given up: most die for reasons of their own
_GLANCE = 0.02  # seconds between two looks at what has come
_RECOUNT = 2.0  # seconds between two questions how many workers a cluster has
_AHEAD = 2  # tasks for each worker, so that none waits for the next
_KEPT = 20
_SETTINGS = {
    "distributed.scheduler.allowed-failures": _DEATHS,
    "distributed.scheduler.work-stealing": False,  # tasks are handed out one by one
    # what the engine keeps of the past, messages with whole tasks among it, for those who look for its defects
    "distributed.admin.low-level-log-length": _KEPT,
    "distributed.admin.log-length": _KEPT,
    "distributed.admin.system-monitor.log-length": _KEPT,
    "distributed.diagnostics.computations.max-history": _KEPT,
    "distributed.diagnostics.erred-tasks.max-history": _KEPT,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}


_DEAD = Failure("engine", "its worker died again and again")


class EngineGoneError(Exception):
    """There is no scheduler any more, or there never was."""


class Engine:
    """A context, in which `submit` hands over tasks and `replies` yields each with the token that it was given."""

    def __init__(self, scheduler: str | None, workers: int, scratch: str) -> None:
        self._scheduler = scheduler
        self._count = workers
        self._counted = 0.0
        self._deaths = 0  # since the last reply
        self._scratch = scratch
        self._workers: Workers | None = None
        self._cluster: Any = None
        self._tokens: dict[Future, tuple[object, Request, int]] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Engine:
        for name in ("distributed", "asyncio"):  # which tells of what nobody waits for once the run is interrupted
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._stack.enter_context(dask.config.set({**_SETTINGS, "temporary-directory": self._scratch}))
        try:
            if self._scheduler is None:
                self._start_cluster()
            self._client = Client(self._cluster or self._scheduler, set_as_default=False)
        except OSError as error:  # TimeoutError is one
            self._stack.close()
            raise EngineGoneError(f"{self._name}: {error}") from error
        self._arrivals = as_completed(loop=self._client.loop)
        return self

    def _start_cluster(self) -> None:
        self._cluster = LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
        )
        self._stack.callback(self._cluster.close, timeout=5)
        self._workers = Workers(self._count, self._cluster.scheduler_address, self._scratch)
        self._stack.callback(self._workers.close)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._tokens))
        if self._workers is None:
            with contextlib.suppress(Exception):
                self.forget(self._scratch)
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)
        self._stack.close()
        _remove(self._scratch)

    @property
    def _name(self) -> str:
        return self._scheduler or "the own scheduler"

    @property
    def dashboard(self) -> str | None:
        """The address of the engine's own pages, where there are any."""
        address = str(self._client.dashboard_link)
        return address if _is_served(address) else None

    @property
    def wants_more(self) -> bool:
        if self._workers is None and time.monotonic() - self._counted > _RECOUNT:
            with self._reaching():
                self._count = max(1, sum(self._client.ncores().values()))
            self._counted = time.monotonic()
        return len(self._tokens) < _AHEAD * self._count

    def submit(self, token: object, request: Request, tries: int = 0) -> None:
        with self._reaching():
            future = self._client.submit(perform, request, pure=False)
            self._tokens[future] = (token, request, tries)
            self._arrivals.add(future)

    def replies(self) -> Iterator[tuple[object, Reply]]:
        """Those of all that has been submitted, also meanwhile."""
        while self._tokens:
            batch = self._arrivals.next_batch(block=False)
            if not batch:
                self._keep_workers()
                time.sleep(_GLANCE)
            for future in batch:
                token, request, tries = self._tokens[future]
                with self._reaching():
                    reply = self._reply(future, request)
                del self._tokens[future]
                if reply is None and tries == 0:
                    self.submit(token, request, 1)
                else:
                    yield token, reply or Reply(request.commit, failure=_DEAD)

    def _reply(self, future: Future, request: Request) -> Reply | None:
        """None where it was lost with its workers."""
        if future.status == "finished":
            return self._handed_over(future)
        if future.status != "error":
            raise EngineGoneError(f"{self._name}: went away")
        error = future.exception()
        return (
            None if isinstance(error, KilledWorker) else Reply(request.commit, failure=Failure("engine", repr(error)))
        )

    def _handed_over(self, future: Future) -> Reply | None:
        """A worker may die before it has handed over what it found: then that is worked out again, which nobody does
        unless the dead are replaced meanwhile."""
        while True:
            try:
                reply: Reply = future.result(timeout=_RECOUNT)
            except TimedOut:
                self._keep_workers()
            except KilledWorker:
                return None
            else:
                self._deaths = 0
                return reply

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """Whatever asks the scheduler may be the first to find that it is gone."""
        try:
            yield
        except (OSError, CancelledError, FutureCancelled, ClosedClientError) as error:  # OSError: a closed connection
            raise EngineGoneError(f"{self._name}: went away") from error

    def _keep_workers(self) -> None:
        if self._workers is not None:
            self._deaths += self._workers.keep()
            if self._deaths > _DEATHS * self._count:
                raise EngineGoneError(f"its workers die one after another: {self._workers.last_words()}")

    def left(self) -> list[object]:
        """The tokens of what was submitted and has not come back."""
        return [token for token, *_ in self._tokens.values()]

    def forget(self, folder: str) -> None:
        """Remove a folder on every machine."""
        self._client.run(_remove, folder)


class Workers:
    """Worker processes of our own; one that dies is replaced.

    Dask's own nannies do not replace a worker that is killed while it starts. A session of their own keeps the
    interrupt of a terminal from them. They end when the scheduler, which is in this process, does.
    """

    def __init__(self, count: int, scheduler: str, scratch: str) -> None:
        self._folder = scratch
        self._log = os.path.join(scratch, "workers.log")
        os.makedirs(scratch, mode=0o700, exist_ok=True)
        self._command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, "--no-nanny"]
        self._command += ["--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--local-directory", scratch]
        self._processes = [self._start() for _ in range(count)]

    def _start(self) -> subprocess.Popen[bytes]:
        """In a folder of our own: `python -m` imports what lies in the folder at hand."""
        with open(open_to_append(self._log), "ab") as log:
            return subprocess.Popen(
                self._command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def keep(self) -> int:
        """How many had died."""
        dead = [number for number, process in enumerate(self._processes) if process.poll() is not None]
        for number in dead:
            self._processes[number] = self._start()
        return len(dead)

    def last_words(self) -> str:
        with open(self._log, encoding="utf-8", errors="replace") as stream:
            lines = stream.read().split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "nothing was said")

    def close(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()


def _is_served(address: str) -> bool:
    """Without Bokeh, the scheduler has but a page that says so; one may be started without any, or out of reach."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(address, timeout=_RECOUNT) as answer:
            return b"Dask needs bokeh" not in answer.read(1000)
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        return False
    except (OSError, ValueError):
        return False


def _remove(scratch: str) -> None:
    for folder in all_places(scratch):
        remove_own(folder)
