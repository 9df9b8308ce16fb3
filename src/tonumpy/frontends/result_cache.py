"""The result cache of a run: where it lies, which outcomes are taken from it, and which go into it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tonumpy.boundary.paths import root_of
from tonumpy.cache.cache_entries import Kept
from tonumpy.cache.folder import CacheFolder, NotOursError, clean
from tonumpy.cache.identity import identity
from tonumpy.cache.seal import own_seal
from tonumpy.cache.store import Store
from tonumpy.config import ConfigError
from tonumpy.frontends.outcomes import Outcome, Task
from tonumpy.frontends.streams import write

if TYPE_CHECKING:
    from tonumpy.config import Configuration, Settings
    from tonumpy.engine.names.lookups import Stamp
    from tonumpy.engine.names.repository import Texts

DEFAULT = ".tonumpy_cache"
_VARIABLE = "TONUMPY_CACHE_DIR"


class ResultCache:
    """Outcomes of former runs, by file and settings; `repairs`: findings with a repair are of no use, as it is to be
    made."""

    def __init__(self, store: Store, *, repairs: bool) -> None:
        self._store = store
        self._repairs = repairs
        self.taken = 0
        self._last = "", False

    def known(self, path: str, settings: Settings) -> Outcome | None:
        """None where the file has to be looked at, or where `holds_nothing` says that nothing is to be judged there."""
        kept = self._store.known(path, settings)
        self._last = path, kept is not None and kept.lookups is None
        if kept is None or (self._repairs and _has_repairs(kept, settings)):
            return None
        self.taken += 1
        if kept.lookups is None:
            return None
        return Outcome(Task(path, None, settings), None, list(kept.findings), [], None, kept.skipped)

    def holds_nothing(self, path: str) -> bool:
        """Of the file that `known` was last asked for."""
        return self._last == (path, True)

    def repository(self, top: str) -> Texts | None:
        """The one with some top, in which former runs have searched."""
        return self._store.searches.repository(top)

    def stamp(self, path: str) -> Stamp | None:
        """To be taken before the file is read."""
        return self._store.stamp(path)

    def keep_nothing(self, path: str, settings: Settings, stamp: Stamp | None) -> None:
        """That there is nothing to judge in the file."""
        self._store.keep(path, settings, Kept(stamp, "", None))

    def keep(self, outcome: Outcome) -> None:
        basis = outcome.basis
        if basis is not None and outcome.error is None:
            own = basis.own
            kept = Kept(own.stamp, own.digest, basis.lookups, tuple(outcome.findings), outcome.skipped)
            self._store.keep(outcome.task.filename, outcome.task.settings, kept)

    def save(self) -> None:
        self._store.save()


def open_result_cache(given: str | None, configuration: Configuration, *, repairs: bool) -> ResultCache | None:
    """`given` is the folder of the command line. None where nothing can be kept; ConfigError where a folder that is
    named is none of ours."""
    path, is_named = place_of_cache(given, configuration)
    by_stamp = not _is_ci()
    try:
        folder = CacheFolder(path, identity(by_content=not by_stamp))
    except NotOursError as error:
        if is_named:
            raise ConfigError(f"{path}: {error}, so no cache is kept there") from error
        write(f"tonumpy: warning: {path}: {error}, so no cache is kept\n", sys.stderr)
        return None
    except OSError:
        return None
    seal = own_seal()
    return None if seal is None else ResultCache(Store(folder, seal, by_stamp=by_stamp), repairs=repairs)


def place_of_cache(given: str | None, configuration: Configuration) -> tuple[str, bool]:
    """The folder of the cache, and whether somebody named it."""
    named = given or os.environ.get(_VARIABLE) or configuration.settings_in("").cache_dir
    if named:
        return named, True
    origin = configuration.governed("")[1]
    folder = None if origin is None else os.path.dirname(origin)
    here = os.getcwd()
    if folder is None or not os.path.join(here, "").startswith(os.path.join(os.path.abspath(folder), "")):
        folder = root_of(here) or here
    return os.path.join(folder, DEFAULT), False


def clean_cache(given: str | None, configuration: Configuration) -> str:
    """What was done; ConfigError where the folder is none of ours."""
    path, _ = place_of_cache(given, configuration)
    try:
        return f"Removed {path}.\n" if clean(path) else f"There is no cache in {path}.\n"
    except NotOursError as error:
        raise ConfigError(f"{path}: {error}, so nothing is removed") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error


def _has_repairs(kept: Kept, settings: Settings) -> bool:
    allowed = ("safe", "unsafe") if settings.unsafe_fixes else ("safe",)
    return any(finding.fix is not None and finding.fix.applicability in allowed for finding in kept.findings)


def _is_ci() -> bool:
    """Where each run has its files from somewhere else, with the time at which they came."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")
