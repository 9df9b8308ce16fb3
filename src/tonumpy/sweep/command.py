"""`tonumpy sweep`: goes through all repositories and writes the data set, the patches and a summary."""

from __future__ import annotations

import hashlib
import os
import random
import re
import secrets
import signal
import sys
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from tonumpy import __version__
from tonumpy.boundary.output import write_file
from tonumpy.config import ConfigError
from tonumpy.sweep.manifest import read_targets
from tonumpy.sweep.messages import Failure, Orders, Reply, Request
from tonumpy.sweep.page import check_that_there_is_a_page, page

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from tonumpy.sweep.cluster import Cluster
    from tonumpy.sweep.messages import Target
    from tonumpy.sweep.progress import Progress
    from tonumpy.sweep.store import Done, Store

CLEAN, FINDINGS, ERRORS, INTERRUPTED = 0, 1, 2, 130
_NEEDED = ("distributed", "pyarrow", "psutil")
_REFRESH = 2.0  # seconds between two looks at what other runs have written


def sweep(arguments: argparse.Namespace, checked: argparse.Namespace) -> int:
    """`checked` is what the options for `tonumpy check` mean."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigError(f"sweep needs {', '.join(missing)}: in a clone of tonumpy, run `pip install '.[sweep]'`")
    if not hasattr(os, "fork"):
        raise ConfigError("sweep needs an operating system that can fork processes")
    from tonumpy.sweep.store import Store, StoreError  # saves start-up: the libraries may be missing

    targets = read_targets(arguments.repositories)
    if arguments.patches is not None:
        os.makedirs(arguments.patches, exist_ok=True)
    if arguments.html is not None:
        check_that_there_is_a_page()
    run = _Run(arguments, _orders(arguments), targets)
    try:
        with run.interrupts.noted():
            store = Store(arguments.output, _run_name(arguments.check_options, checked.config))
            run.go(store)
            run.write_page(store)
    except (StoreError, KeyboardInterrupt) as error:
        if isinstance(error, StoreError) and not run.interrupts.came:
            print(f"tonumpy: error: {error}", file=sys.stderr)
            return ERRORS
        print("\ntonumpy: interrupted; the same command goes on where it stopped", file=sys.stderr)
        return INTERRUPTED
    return run.summary()


def _orders(arguments: argparse.Namespace) -> Orders:
    fix = None
    if arguments.patches is not None:
        fix = (*arguments.check_options, *(("--unsafe-fixes",) if arguments.unsafe_fixes else ()))
    scratch = os.path.join(tempfile.gettempdir(), f"tonumpy-sweep-{secrets.token_hex(8)}")
    return Orders(tuple(arguments.check_options), fix, scratch, arguments.task_timeout, arguments.task_memory)


def _run_name(options: Sequence[str], config: str | None) -> str:
    """The name of a run, the same for the same program with the same settings."""
    digest = hashlib.sha256("\0".join(options).encode("utf-8", "surrogateescape"))
    if config is not None:
        with open(config, "rb") as stream:
            digest.update(stream.read())
    package = os.path.dirname(os.path.dirname(__file__))
    for folder, inner, names in os.walk(package):
        inner.sort()
        for name in sorted(names):
            if name.endswith((".py", ".json", ".toml")):
                with open(os.path.join(folder, name), "rb") as stream:
                    digest.update(stream.read())
    return f"{__version__}-{digest.hexdigest()[:12]}"


class _Interrupts:
    """An interrupt that a library swallows: Arrow clears what Python code that it calls raises."""

    def __init__(self) -> None:
        self.came = False

    def check(self) -> None:
        """Raise KeyboardInterrupt once more if it has been swallowed."""
        if self.came:
            raise KeyboardInterrupt

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Inside, SIGINT is noted before KeyboardInterrupt is raised, unless it is ignored, or is not Python's."""
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            self.came = True
            signal.default_int_handler(number, frame)

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


class _Outcome(NamedTuple):
    """The result for a target at the end of a run."""

    commit: str | None
    findings: int
    errors: int
    failed: bool
    earlier: bool


class _Run:
    """One pass over all targets."""

    def __init__(self, arguments: argparse.Namespace, orders: Orders, targets: list[Target]) -> None:
        self._arguments = arguments
        self._orders = orders
        self._targets = targets
        self._outcomes: dict[Target, _Outcome] = {}
        self._failures: list[tuple[Target, Failure]] = []
        self._gone: str | None = None
        self._refreshed = 0.0
        self.interrupts = _Interrupts()

    def go(self, store: Store) -> None:
        from tonumpy.sweep.cluster import Cluster, ClusterGoneError  # start-up: the libraries may be missing
        from tonumpy.sweep.progress import Progress  # start-up

        arguments = self._arguments
        workers = arguments.workers or len(os.sched_getaffinity(0))
        waiting = list(self._targets)
        random.shuffle(waiting)  # two runs at once share the work this way
        progress = Progress(len(waiting), quiet=arguments.quiet)
        try:
            with Cluster(arguments.scheduler, workers, self._orders.scratch) as cluster:
                dashboard = None if arguments.quiet else cluster.dashboard
                if dashboard is not None:
                    progress.say(f"the engine's dashboard: {dashboard}")
                try:
                    self._work(store, cluster, waiting, progress)
                except ClusterGoneError as error:
                    self._gone = str(error)
                    for target in sorted(set(cluster.left()) - set(self._outcomes), key=str):
                        self._fail(store, target, None, Failure("engine", self._gone))
        except ClusterGoneError as error:
            self._gone = str(error)
        finally:
            progress.close()

    def _work(self, store: Store, cluster: Cluster, waiting: list[Target], progress: Progress) -> None:
        self._feed(store, cluster, waiting)
        self.interrupts.check()
        for target, reply in cluster.replies():
            self._take(store, target, reply)
            progress.step(self._outcomes[target].findings)
            self._feed(store, cluster, waiting)
            self.interrupts.check()

    def _feed(self, store: Store, cluster: Cluster, waiting: list[Target]) -> None:
        while waiting and cluster.wants_more:
            if monotonic() - self._refreshed > _REFRESH:
                store.refresh()
                self._refreshed = monotonic()
            target = waiting.pop()
            known = frozenset(commit for commit, done in store.done(target).items() if self._is_whole(done))
            cluster.submit(Request(target, self._orders, known))

    def _is_whole(self, done: Done) -> bool:
        """True if nothing is left to be done, not even the patch."""
        folder = self._arguments.patches
        if folder is None:
            return True
        return done.patch is not None and (not done.patch or os.path.exists(os.path.join(folder, done.patch)))

    def _take(self, store: Store, target: Target, reply: Reply) -> None:
        if reply.failure is not None:
            self._fail(store, target, reply.commit, reply.failure)
        elif reply.known:
            assert reply.commit is not None
            done = store.done(target)[reply.commit]
            self._outcomes[target] = _Outcome(done.commit, done.findings, done.errors, failed=False, earlier=True)
        else:
            self._save(store, target, reply)

    def _save(self, store: Store, target: Target, reply: Reply) -> None:
        from tonumpy.sweep.store import StoreError  # saves start-up: the libraries may be missing

        assert reply.commit is not None
        name = None if self._orders.fix is None else ""
        if reply.patch is not None:
            name = _patch_name(target, reply.commit)
            path = os.path.join(self._arguments.patches, name)
            try:
                write_file(path, reply.patch, kind="patch", replaces=_is_patch)
            except OSError as error:
                raise StoreError(f"{path}: {error.strerror}") from error
        done = store.save(target, reply, name)
        self._outcomes[target] = _Outcome(done.commit, done.findings, done.errors, failed=False, earlier=False)

    def _fail(self, store: Store, target: Target, commit: str | None, failure: Failure) -> None:
        store.fail(target, commit, failure)
        self._failures.append((target, failure))
        self._outcomes[target] = _Outcome(commit, 0, 0, failed=True, earlier=False)

    def write_page(self, store: Store) -> None:
        from tonumpy.sweep.store import StoreError  # saves start-up: the libraries may be missing

        path = self._arguments.html
        if path is None:
            return
        outcomes = [(target, self._outcomes.get(target)) for target in self._targets]
        places = [(target, each.commit) for target, each in outcomes if each and each.commit and not each.failed]
        try:
            write_file(path, page(store.kept(places)).encode("utf-8", "backslashreplace"), kind="page")
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error

    def summary(self) -> int:
        """Say what came out, and give the exit code."""
        for target, failure in sorted(self._failures, key=lambda pair: str(pair[0])):
            print(f"{target}: error: {failure.reason}", file=sys.stderr)
        left = len(self._targets) - len(self._outcomes)
        if self._gone is not None:
            print(f"tonumpy: error: {self._gone}; the same command goes on where it stopped", file=sys.stderr)
        outcomes = self._outcomes.values()
        findings, errors = sum(each.findings for each in outcomes), sum(each.errors for each in outcomes)
        failed, earlier = sum(each.failed for each in outcomes), sum(each.earlier for each in outcomes)
        has_errors = bool(failed or errors or left)
        if not self._arguments.quiet:
            done = len(outcomes) - failed
            print(f"{_count(done, 'repository', 'repositories')} done, {earlier} of them by an earlier run.")
            print(f"Found {_count(findings, 'finding')}; they are in {self._arguments.output}.")
            if has_errors:
                files = _count(errors, "file")
                print(f"{_count(failed + left, 'repository', 'repositories')} and {files} could not be processed.")
        if has_errors:
            return ERRORS
        return FINDINGS if findings and not self._arguments.exit_zero else CLEAN


def _patch_name(target: Target, commit: str) -> str:
    """Two repositories never share a name, whatever characters stand in theirs."""
    digest = hashlib.sha256(f"{target.repository}\0{target.folder}".encode("utf-8", "surrogateescape")).hexdigest()
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", target.repository).strip("-.")[-80:]
    return f"{readable}-{digest[:6]}-{commit[:12]}.patch"


def _is_patch(data: bytes) -> bool:
    return data.startswith((b"From ", b"diff "))


def _count(number: int, noun: str, nouns: str | None = None) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or f'{noun}s'}"
