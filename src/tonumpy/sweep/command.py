"""`tonumpy sweep`: checks all repositories and writes the data set, the patches and a summary."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tonumpy import __version__
from tonumpy.boundary.output import write_file
from tonumpy.boundary.signals import current
from tonumpy.cli.cache_folder import identity
from tonumpy.cli.cli_arguments import parse_arguments
from tonumpy.config import ConfigError, cores
from tonumpy.sweep.manifest import read_targets
from tonumpy.sweep.messages import Failure, Orders, Reply, Request

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from concurrent.futures import Executor, Future

    from tonumpy.sweep.messages import Target
    from tonumpy.sweep.parquet_store import Done, Store

CLEAN, FINDINGS, ERRORS = 0, 1, 2
_NEEDED = ("distributed", "pyarrow", "psutil", "tqdm")
_RARELY = 30.0  # seconds between two lines of progress where there is no terminal
_GOES_ON = "the same command goes on where it stopped"


def sweep(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    checked = parse_arguments(["check", *arguments.check_options])
    if checked.paths or checked.stdin_filename is not None:
        raise ConfigError("sweep takes only options of `tonumpy check` after `--`, no paths")
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(f"sweep needs {', '.join(missing)}: in a clone of tonumpy, run `pip install '.[sweep]'`")
    if not hasattr(os, "fork"):
        raise ConfigError("sweep needs an operating system that can fork processes")
    from tonumpy.sweep.parquet_store import Store  # start-up: the libraries may be missing

    arguments.task_memory = _bytes_in(arguments.task_memory)
    targets = read_targets(arguments.repositories)
    if arguments.patches is not None:
        os.makedirs(arguments.patches, exist_ok=True)
    store = Store(arguments.output, _run_name(arguments.check_options, checked.config))
    run = _Run(arguments, targets, store)
    run.go()
    if arguments.html is not None:
        run.write_page(arguments.html)
    return run.summary()


def _bytes_in(text: str) -> int:
    from dask.utils import parse_bytes  # start-up

    try:
        return int(parse_bytes(text))
    except ValueError as error:
        raise ConfigError(f"--task-memory: expected a size such as 512M or 4GiB, found `{text}`") from error


def _run_name(options: Sequence[str], config: str | None) -> str:
    """The name of a run, equal for the same program with the same settings."""
    digest = hashlib.sha256("\0".join(options).encode("utf-8", "surrogateescape"))
    if config is not None:
        with open(config, "rb") as stream:
            digest.update(stream.read())
    return f"{__version__}-{identity()[:4]}{digest.hexdigest()[:8]}"


class _Run:
    """One pass over all targets."""

    def __init__(self, arguments: argparse.Namespace, targets: list[Target], store: Store) -> None:
        fix = None
        if arguments.patches is not None:
            fix = (*arguments.check_options, *(("--unsafe-fixes",) if arguments.unsafe_fixes else ()))
        self._orders = Orders(tuple(arguments.check_options), fix, arguments.task_timeout, arguments.task_memory)
        self._arguments = arguments
        self._targets = targets
        self._store = store
        self._done: dict[Target, Done] = {}
        self._earlier = 0  # how many of these an earlier run has done
        self._failures: dict[Target, Failure] = {}

    def go(self) -> None:
        """Run the tasks in processes of this machine, or in the workers of a cluster, and store the replies."""
        from tonumpy.sweep.worker import stopping  # start-up: the libraries may be missing

        stopping.clear()
        if self._arguments.scheduler is not None:
            self._go_on_cluster()
            return
        executor = ThreadPoolExecutor(self._arguments.workers or cores())
        try:
            self._work(executor)
        finally:
            stopping.set()
            executor.shutdown(cancel_futures=True)

    def _go_on_cluster(self) -> None:
        from distributed import Client  # start-up

        address = self._arguments.scheduler
        try:
            client = Client(address, set_as_default=False)
        except OSError as error:  # TimeoutError is one
            raise ConfigError(f"{address}: {error}; {_GOES_ON}") from error
        try:
            self._work(client.get_executor(pure=False))
        except (CancelledError, OSError) as error:
            raise ConfigError(f"{address}: went away; {_GOES_ON}") from error
        finally:
            client.close(timeout=5)

    def _work(self, executor: Executor) -> None:
        from tqdm import tqdm  # start-up: the libraries may be missing

        from tonumpy.sweep.worker import run_task  # the same: start-up

        quiet, on_terminal = self._arguments.quiet, sys.stderr.isatty()
        running = {executor.submit(run_task, self._request(target)): target for target in self._targets}
        tqdm.monitor_interval = 0
        rare = {} if on_terminal else {"mininterval": _RARELY, "delay": _RARELY}
        with tqdm(total=len(running), unit="repository", dynamic_ncols=True, disable=quiet, **rare) as bar:
            for future in as_completed(list(running)):
                self._take(running.pop(future), _reply(future))
                current().check()  # Arrow swallows exceptions of Python code that it calls
                bar.set_postfix_str(f"{self._findings} findings", refresh=False)
                bar.update()

    def _request(self, target: Target) -> Request:
        known = frozenset(commit for commit, done in self._store.done(target).items() if self._is_whole(done))
        return Request(target, self._orders, known)

    def _is_whole(self, done: Done) -> bool:
        """True if nothing is left to do, including the patch."""
        folder = self._arguments.patches
        if folder is None:
            return True
        return done.patch is not None and (not done.patch or os.path.exists(os.path.join(folder, done.patch)))

    def _take(self, target: Target, reply: Reply) -> None:
        if reply.failure is not None:
            self._store.fail(target, reply.failure)
            self._failures[target] = reply.failure
            return
        assert reply.commit is not None
        if reply.known:
            self._earlier += 1
            self._done[target] = self._store.done(target)[reply.commit]
            return
        name = None if self._orders.fix is None else ""
        if reply.patch is not None:
            name = _patch_name(target, reply.commit)
            _write(os.path.join(self._arguments.patches, name), reply.patch)
        self._done[target] = self._store.save(target, reply, name)

    def write_page(self, path: str) -> None:
        from tonumpy.sweep.page import page  # start-up

        places = [(target, self._done[target].commit) for target in self._targets if target in self._done]
        _write(path, page(self._store.kept(places)).encode("utf-8", "backslashreplace"))

    @property
    def _findings(self) -> int:
        return sum(each.findings for each in self._done.values())

    def summary(self) -> int:
        """Print the summary, and return the exit code."""
        for target, failure in sorted(self._failures.items(), key=str):
            print(f"{target}: error: {failure.reason}", file=sys.stderr)
        errors = sum(each.errors for each in self._done.values())
        if not self._arguments.quiet:
            print(f"{_count(len(self._done), 'repository')} done, {self._earlier} of them by an earlier run.")
            print(f"Found {_count(self._findings, 'finding')}; they are in {self._arguments.output}.")
            if self._failures or errors:
                failed = f"{_count(len(self._failures), 'repository')} and {_count(errors, 'file')}"
                print(f"{failed} could not be processed.")
        if self._failures or errors:
            return ERRORS
        return FINDINGS if self._findings and not self._arguments.exit_zero else CLEAN


def _reply(future: Future[Reply]) -> Reply:
    try:
        return future.result()
    except CancelledError:  # the scheduler is gone
        raise
    except Exception as error:
        return Reply(failure=Failure("engine", repr(error)))


def _write(path: str, data: bytes) -> None:
    try:
        write_file(path, data)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def _patch_name(target: Target, commit: str) -> str:
    """The file name of a patch, unique for each repository, whatever characters its name has."""
    digest = hashlib.sha256(f"{target.repository}\0{target.folder}".encode("utf-8", "surrogateescape")).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", target.repository).strip("-.")[-80:]
    return f"{readable}-{digest[:6]}-{commit[:12]}.patch"


def _count(number: int, noun: str) -> str:
    nouns = "repositories" if noun == "repository" else f"{noun}s"
    return f"{number} {noun if number == 1 else nouns}"
