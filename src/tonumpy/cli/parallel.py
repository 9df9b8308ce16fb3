"""Runs tasks in one process or several, and yields their outcomes in the order of the tasks."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from functools import cache, partial
from typing import TYPE_CHECKING

from tonumpy.boundary.signals import begin_worker
from tonumpy.config import cores
from tonumpy.engine.names.project import Project
from tonumpy.garbage import Paused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tonumpy.cli.outcomes import Outcome, Task
    from tonumpy.cli.result_cache import ResultCache
    from tonumpy.cli.run import Work

# Below this many files with candidates a pool costs more than it saves: it takes some 50 ms to import and start, and
# each of its processes reads the repository's imported modules again.
POOL_FROM = 100
TOO_MANY_OBJECTS = 1_000_000  # created since the last collection and not freed
_CHUNK = 8  # enough to make the transport cheap, few enough to keep every process busy to the end


def outcomes_of(
    work: Work, tasks: Sequence[Task], jobs: int, result_cache: ResultCache | None = None
) -> Iterator[Outcome]:
    """Run the tasks in `jobs` processes, 0 for one per core. ChildProcessError if one of them dies.

    With a result cache, outcomes have a basis.
    """
    processes = min(jobs or cores(), len(tasks) // _CHUNK)
    if processes <= 1 or len(tasks) < POOL_FROM or not _is_pool_safe():
        return _in_turn(work, tasks, result_cache)
    return _pooled(work, tasks, processes, records=result_cache is not None)


def _in_turn(work: Work, tasks: Sequence[Task], result_cache: ResultCache | None) -> Iterator[Outcome]:
    project = Project(records=result_cache is not None)
    with Paused():
        try:
            for task in tasks:
                yield _do(work, task, project)
        finally:
            gc.freeze()  # the rest lives to the end of the program; collecting it takes 2 % of a long run


def _do(work: Work, task: Task, project: Project) -> Outcome:
    """Run a task with the garbage collector off: it would traverse the kept trees again and again, which takes a third
    of the whole time. Collect only if more objects have piled up than are meant to be kept."""
    outcome = work(task, project)
    if gc.get_count()[0] > TOO_MANY_OBJECTS:
        gc.collect()
    return outcome


def _is_pool_safe() -> bool:
    """True if workers cannot import a stranger's `pickle.py` from the working folder: they are forked, or spawned with
    PYTHONSAFEPATH (`_safe_path`), which Python knows from 3.11 on."""
    from multiprocessing import get_start_method  # saves start-up

    return sys.version_info >= (3, 11) or get_start_method() == "fork"


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Context manager: processes started inside do not import from the working folder."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _pooled(work: Work, tasks: Sequence[Task], processes: int, *, records: bool) -> Iterator[Outcome]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with _safe_path(), ProcessPoolExecutor(processes, initializer=_start_worker) as pool:
        try:
            yield from pool.map(partial(_work_here, work, records), tasks, chunksize=_CHUNK)
        except BrokenProcessPool as error:
            raise ChildProcessError("a worker process ended unexpectedly; `--jobs 1` shows at which file") from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _work_here(work: Work, records: bool, task: Task) -> Outcome:
    return _do(work, task, _project_of_this_process(records))


@cache
def _project_of_this_process(records: bool) -> Project:
    """The project of a worker, which keeps the modules read from one task to the next."""
    return Project(records=records)


def _start_worker() -> None:
    begin_worker()
    gc.disable()
