"""A memo of computations on one module, shared by all files that follow it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_T = TypeVar("_T")


class Memo:
    """Results by key, each computed once."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}

    def of(self, key: Hashable, work: Callable[..., _T], *arguments: object) -> _T:
        """The result of `work(*arguments)`; the key must determine it."""
        if key not in self._known:
            self._known[key] = work(*arguments)
        found: _T = self._known[key]
        return found
