"""What may still be spent on one query, in statements that are run."""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.index.module import Module

MAX_STATEMENTS = 4_000  # for the candidates of one function; what is asked beyond them is answered "unknown"
MAX_CALLS_BEFORE = 4  # one into the other: those up to callers are followed no deeper


class Budget:
    """Where it is exhausted, what is asked is answered "unknown".

    `cuts` counts the answers that a limit has cut short, this one or that of depth: what was worked out meanwhile is
    for this run alone (see fixpoint.py).
    """

    def __init__(self) -> None:
        self.cuts = 0
        self._spent = 0  # by all queries
        self._calls = 0  # that were followed one into the other, at most: by this query,
        self._calls_before = 0  # and by those before it, added up
        self._left = MAX_STATEMENTS
        self._modules_read: set[str] = set()

    def refuel(self, limit: int) -> None:
        """Before each run of a function that holds candidates."""
        self._left = limit

    def begin_query(self) -> None:
        self._calls_before += self._calls
        self._calls = 0

    def is_ample(self, limit: int) -> bool:
        """Whether the query would have been answered so by itself, with nothing known from those before it: as if it
        had to spend all that they have spent together, with half of what is left for each call in a call."""
        calls = self._calls_before + self._calls
        return self.cuts == 0 and calls < MAX_CALLS_BEFORE and self._spent << calls < limit

    def spend(self) -> None:
        self._left -= 1
        self._spent += 1

    def enter(self, depth: int) -> None:
        """A call is followed, or the callers are: so many, one into the other."""
        self._calls = max(self._calls, depth)

    @property
    def is_exhausted(self) -> bool:
        return self._left <= 0

    def cuts_short(self) -> bool:
        """Whether it is exhausted, where the answer is another one then."""
        if self._left > 0:
            return False
        self.cuts += 1
        return True

    def cut(self) -> None:
        """Another limit has cut an answer short: that of depth."""
        self.cuts += 1

    def may_read(self, module: Module) -> bool:
        """A module that is read for the first time costs as much as statements that take the time of its parse."""
        if module.filename not in self._modules_read:
            if self.cuts_short():
                return False
            self._modules_read.add(module.filename)
            self._left -= module.text.size
            self._spent += module.text.size
        return True

    def keep_half(self) -> int:
        """Set aside before a call what is for those that come after it: it is often one of many."""
        kept = self._left // 2
        self._left -= kept
        return kept

    def give_back(self, kept: int) -> None:
        self._left += kept
