"""Runs a check again whenever a file changes that it may depend on, until an interrupt."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator

from tonumpy.boundary.paths import real_path, root_of
from tonumpy.cli.files import SUFFIXES
from tonumpy.cli.standard_streams import write
from tonumpy.config import ConfigError

_PAUSE = 200  # milliseconds
_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def watch(paths: Iterable[str], check: Callable[[], int]) -> int:
    """Run the check at every change, until an interrupt is raised; ConfigError if `watchfiles` is missing."""
    changes = _changes(_watched(paths))
    while True:
        if sys.stdout.isatty():
            write(_CLEAR, sys.stdout)
        try:
            check()
        except ConfigError as error:  # the user may be about to correct it
            write(f"tonumpy: error: {error}\n", sys.stderr)
        write("tonumpy: watching for changes, Ctrl-C ends\n", sys.stderr)
        while not next(changes):
            pass


def _changes(folders: list[str]) -> Iterator[object]:
    try:
        from watchfiles import DefaultFilter, watch
    except ModuleNotFoundError as error:
        remedy = "in a clone of tonumpy, run `pip install '.[watch]'`"
        raise ConfigError(f"--watch needs {error.name}: {remedy}") from error

    usual = DefaultFilter()

    def is_of_concern(change: object, path: str) -> bool:
        name = os.path.basename(path)
        return name.endswith((*SUFFIXES, ".toml")) and bool(usual(change, path))

    found = watch(*folders, watch_filter=is_of_concern, rust_timeout=_PAUSE, yield_on_timeout=True, debounce=200)
    next(found)  # starts watching, also while a check runs
    return iter(found)


def _watched(paths: Iterable[str]) -> list[str]:
    """The folders to watch: the repository of each path, whose modules and settings count, or else its folder."""
    found = {real_path(path if os.path.isdir(path) else os.path.dirname(path)) for path in paths}
    return sorted({root_of(folder) or folder for folder in found if os.path.isdir(folder)}) or [os.curdir]
