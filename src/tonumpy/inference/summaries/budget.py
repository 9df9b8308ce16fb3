"""What may still be spent on the candidates of one function, in statements that are run."""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.index.module import Module

MAX_STATEMENTS = 4_000  # for the candidates of one function; what is asked beyond them is answered "unknown"


class Budget:
    """Where it is exhausted, what is asked is answered "unknown"."""

    def __init__(self) -> None:
        self._left = MAX_STATEMENTS
        self._modules_read: set[str] = set()

    def refuel(self, limit: int) -> None:
        """Before each function that holds candidates, so that the cost grows with their number and no faster."""
        self._left = limit

    def spend(self) -> None:
        self._left -= 1

    @property
    def is_exhausted(self) -> bool:
        return self._left <= 0

    def may_read(self, module: Module) -> bool:
        """A module that is read for the first time costs as much as statements that take the time of its parse."""
        if module.filename not in self._modules_read:
            if self.is_exhausted:
                return False
            self._modules_read.add(module.filename)
            self._left -= module.text.size
        return True

    def keep_half(self) -> int:
        """Set aside before a call what is for those that come after it: it is often one of many."""
        kept = self._left // 2
        self._left -= kept
        return kept

    def give_back(self, kept: int) -> None:
        self._left += kept
