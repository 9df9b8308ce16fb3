"""Whether what was asked of a whole repository (engine/names/repository.py) would have the same answer now."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from tonumpy.cache.known_repository import (
    File,
    Found,
    Known,
    KnownRepository,
    Search,
    known_repository,
)
from tonumpy.engine.names.lookups import Stamp, digest_of
from tonumpy.engine.names.repository import is_installable, top_of_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

KINDS = frozenset(("naming", "beside", "called"))  # of questions that a search answers


class Searches:
    """Each answers as `LookupAnswers.renewed` does. `stamp` tells that of a file; None where these mean nothing. `load`
    gives what a former run has left of a repository, as JSON has it."""

    def __init__(self, stamp: Callable[[str], Stamp | None] | None, load: Callable[[str], list[Any] | None]) -> None:
        self._stamp = stamp
        self._load = load
        self._repositories: dict[str, KnownRepository | None] = {}
        self._left: dict[str, Known | None] = {}  # by a former run
        self._exists = cache(os.path.exists)

    def repository(self, top: str) -> KnownRepository | None:
        if top not in self._repositories:
            self._left[top] = left = _unpacked(self._load(top))
            self._repositories[top] = known_repository(top, left, self._stamp)
        return self._repositories[top]

    def shortened(self, kind: str, about: Sequence[str], answer: Sequence[Any]) -> object:
        """What is kept of what a search gave some process; what was found is remembered."""
        top, *rest = about
        repository = self.repository(top)
        if repository is not None:
            repository.remember(kind, rest, answer)
        return _shortened(answer)

    def changed(self) -> Iterator[tuple[str, list[object]]]:
        """What the next run shall load of each repository of which something else is known than before."""
        for top, repository in self._repositories.items():
            known = None if repository is None else repository.known
            if known is not None and known != self._left[top]:
                yield top, _packed(known)

    # The questions

    def _top(self, folder: str, answer: list[Any]) -> object:
        return answer if [top_of_repository(folder, self._exists)] == answer else None

    def _installable(self, top: str, answer: list[Any]) -> object:
        return answer if [is_installable(top)] == answer else None

    def _unsearched(self, top: str, answer: list[Any]) -> object:
        return answer if self.repository(top) is None else None

    def _naming(self, top: str, name: str, pattern: str, answer: list[Any]) -> object:
        return self._searched("naming", top, (name, pattern), answer)

    def _beside(self, top: str, path: str, name: str, pattern: str, answer: list[Any]) -> object:
        return self._searched("beside", top, (path, name, pattern), answer)

    def _called(self, top: str, dotted: str, answer: list[Any]) -> object:
        return self._searched("called", top, (dotted,), answer)

    def _searched(self, kind: str, top: str, about: tuple[str, ...], answer: list[Any]) -> object:
        repository = self.repository(top)
        if repository is None:
            return None
        return answer if _shortened(repository.answer(kind, about)) == answer else None


def _shortened(answer: Sequence[Any]) -> list[object]:
    found = answer[0]
    return [digest_of([os.fsencode("\0".join(found))]) if isinstance(found, list) else found]


def _packed(known: Known) -> list[object]:
    former = {state: sorted(changed) for state, changed in known.former.items()}
    numbers = {path: number for number, path in enumerate(known.files)}
    found = [
        [*search, state, [numbers[path] for path in paths]]
        for search, (paths, state) in known.found.items()
        if all(path in numbers for path in paths)
    ]
    return [{path: list(file) for path, file in known.files.items()}, former, found]


def _unpacked(packed: list[Any] | None) -> Known | None:
    """None where it is not of this shape."""
    try:
        files, former, found = packed or [{}, {}, []]
        paths = list(files)
        return Known(
            {path: File(stamp and Stamp(*stamp), size, digest) for path, (stamp, size, digest) in files.items()},
            {state: frozenset(changed) for state, changed in former.items()},
            {Search(*search): Found([paths[number] for number in at], state) for *search, state, at in found},
        )
    except (ValueError, TypeError, AttributeError, IndexError):
        return None
