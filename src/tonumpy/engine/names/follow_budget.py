"""The budget of followed modules: how much source of other modules one query, and all queries of one file, may read."""

from __future__ import annotations

MAX_FOLLOWED = 1_500_000  # bytes of the text for one query: some packages import all of themselves
MAX_HELD = 4 * MAX_FOLLOWED  # for one file, as all of them are kept meanwhile


class Followed:
    """`paths` are the modules that the file at hand has asked for."""

    def __init__(self) -> None:
        self.begin_file()

    def begin_file(self) -> None:
        """Forget what former files have asked for."""
        self.paths: set[str] = set()
        self._size_held = 0
        self.begin_query()

    def begin_query(self) -> None:
        """Make one query independent of what others have asked for before."""
        self._of_query: set[str] = set()
        self._size = 0

    def may_follow(self, path: str) -> bool:
        """True if the query at hand may use the module at `path`, whether it was read before or not."""
        if path in self._of_query:
            return True
        return self._size <= MAX_FOLLOWED and (path in self.paths or self._size_held <= MAX_HELD)

    def note(self, path: str, size: int) -> None:
        """Count a module of `size` that the query at hand follows."""
        if path not in self.paths:
            self.paths.add(path)
            self._size_held += size
        if path not in self._of_query:
            self._of_query.add(path)
            self._size += size
