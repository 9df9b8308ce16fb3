"""Whether what was asked of a whole repository (inference/index/repository.py) would have the same answer now."""

from __future__ import annotations

from tonumpy.inference.index.known_repository import File, Known, KnownRepository, known_repository
from tonumpy.inference.index.lookups import Lookup, Stamp
from tonumpy.inference.index.repository import is_installable, top_of_repository
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

KINDS = frozenset(("naming", "beside", "called"))  # of questions that a search answers


class Searches:
    """Each answers as `Answers.renewed` does. `stamp` tells that of a file; None where these mean nothing. `load` gives
    what a former run has left of a repository, as JSON has it."""

    def __init__(self, stamp: Callable[[str], Stamp | None] | None, load: Callable[[str], list[Any] | None]) -> None:
        self._stamp = stamp
        self._load = load
        self._repositories: dict[str, KnownRepository | None] = {}
        self._left: dict[str, Known | None] = {}  # by a former run
        # What was found in repositories that are not yet asked for.
        self._remembered: dict[str, list[tuple[str, Sequence[str], list[Any]]]] = {}

    def repository(self, top: str) -> KnownRepository | None:
        if top not in self._repositories:
            self._left[top] = left = _unpacked(self._load(top))
            self._repositories[top] = known_repository(top, left, self._stamp)
            for kind, about, answer in self._remembered.pop(top, ()):
                self.remember(kind, (top, *about), answer)
        return self._repositories[top]

    def remember(self, kind: str, about: Sequence[str], answer: list[Any]) -> None:
        """What a search found in some run, whether or not the file that it was made for is as it was."""
        if kind in KINDS:
            top, *rest = about
            known = self._repositories.get(top)
            if known is not None:
                known.remember(kind, rest, answer)
            elif top not in self._repositories:
                self._remembered.setdefault(top, []).append((kind, rest, answer))

    def expect(self, lookups: Sequence[Lookup]) -> None:
        """The next run shall know what has changed since these searches, whoever made them."""
        for kind, about, _ in lookups:
            if kind in KINDS:
                self.repository(about[0])

    def changed(self) -> Iterator[tuple[str, list[object]]]:
        """What the next run shall load of each repository of which something else is known than before."""
        for top, repository in self._repositories.items():
            if repository is not None and repository.state and repository.known != self._left[top]:
                yield top, _packed(repository.known)

    # The questions

    def _top(self, folder: str, answer: list[Any]) -> object:
        return answer if [top_of_repository(folder)] == answer else None

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
        now = repository.answer(kind, about)
        return now if now[0] == answer[0] else None


def _packed(known: Known) -> list[object]:
    former = {state: sorted(changed) for state, changed in known.former.items()}
    return [{path: list(file) for path, file in known.files.items()}, former]


def _unpacked(packed: list[Any] | None) -> Known | None:
    """None where it is not of this shape."""
    try:
        files, former = packed or [{}, {}]
        return Known(
            {path: File(stamp and Stamp(*stamp), size, digest) for path, (stamp, size, digest) in files.items()},
            {state: frozenset(changed) for state, changed in former.items()},
        )
    except (ValueError, TypeError, AttributeError):
        return None
