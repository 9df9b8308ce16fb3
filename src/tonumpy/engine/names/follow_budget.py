"""The budget of followed modules: how much source of other modules one query, and all queries of one file, may read."""

from __future__ import annotations

MAX_FOLLOWED = 1_500_000  # bytes of the text for one query: some packages import all of themselves
MAX_HELD = 4 * MAX_FOLLOWED  # for one file, as all of them are kept meanwhile


class Followed:
    """The bytes read for the current file and query; `paths` are the modules that the current file used."""

    def __init__(self) -> None:
        self.begin_file()

    def begin_file(self) -> None:
        """Reset the budget for the next file."""
        self.paths: set[str] = set()
        self._size_held = 0
        self.begin_query()

    def begin_query(self) -> None:
        """Reset the budget of one query, so that it does not depend on earlier queries."""
        self._of_query: set[str] = set()
        self._size = 0

    def may_follow(self, path: str) -> bool:
        """True if the current query may use the module at `path`, whether it was read before or not."""
        if path in self._of_query:
            return True
        return self._size <= MAX_FOLLOWED and (path in self.paths or self._size_held <= MAX_HELD)

    def note(self, path: str, size: int) -> None:
        """Count a module of `size` bytes that the current query follows."""
        if path not in self.paths:
            self.paths.add(path)
            self._size_held += size
        if path not in self._of_query:
            self._of_query.add(path)
            self._size += size
