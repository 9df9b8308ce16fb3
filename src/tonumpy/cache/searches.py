"""Whether what was asked of a whole repository (inference/index/repository.py) would have the same answer now."""

from __future__ import annotations

from tonumpy.inference.index.repository import (
    digest_of_paths,
    digest_of_stamps,
    is_installable,
    python_files,
    read_repository,
    top_of_repository,
)
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tonumpy.inference.index.lookups import Stamp
    from tonumpy.inference.index.repository import Repository


class Searches:
    """Each answers as `Answers.renewed` does. `stamp` tells that of a file; None where these mean nothing."""

    def __init__(self, stamp: Callable[[str], Stamp | None] | None) -> None:
        self._stamp = stamp
        self._all_stamps: dict[str, str | None] = {}  # by the top of the repository
        self._repositories: dict[str, Repository | None] = {}

    def _top(self, folder: str, answer: list[Any]) -> object:
        return answer if [top_of_repository(folder)] == answer else None

    def _installable(self, top: str, answer: list[Any]) -> object:
        return answer if [is_installable(top)] == answer else None

    def _unsearched(self, top: str, answer: list[Any]) -> object:
        return answer if self._repository(top) is None else None

    def _naming(self, top: str, name: str, pattern: str, answer: list[Any]) -> object:
        return self._searched(top, answer, lambda repository: digest_of_paths(repository.naming(name, pattern)))

    def _beside(self, top: str, path: str, name: str, pattern: str, answer: list[Any]) -> object:
        return self._searched(top, answer, lambda repository: repository.names_beside(path, name, pattern))

    def _called(self, top: str, dotted: str, answer: list[Any]) -> object:
        return self._searched(top, answer, lambda repository: digest_of_paths(repository.called(dotted)))

    def _searched(self, top: str, answer: list[Any], search: Callable[[Repository], str | bool]) -> object:
        """While all files have the stamps that they had, nothing is read."""
        found, stamps = answer
        if self._stamp is not None and stamps is not None and self._stamps_in(top, self._stamp) == stamps:
            return answer
        repository = self._repository(top)
        if repository is None or search(repository) != found:
            return None
        return [found, digest_of_stamps(repository.seen)]

    def _stamps_in(self, top: str, stamp: Callable[[str], Stamp | None]) -> str | None:
        if top not in self._all_stamps:
            stamps = {path: stamp(path) for path in python_files(top)}
            self._all_stamps[top] = digest_of_stamps(stamps)
        return self._all_stamps[top]

    def _repository(self, top: str) -> Repository | None:
        if top not in self._repositories:
            self._repositories[top] = read_repository(top, {})
        return self._repositories[top]
