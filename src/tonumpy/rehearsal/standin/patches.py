"""Attributes of foreign objects, replaced for a while and put back exactly as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_ABSENT = object()


class Patches:
    """The replaced attributes, with their former values; the last replaced is put back first."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, value: object) -> Any:
        """Set an attribute of a module, class or object. Returns what was seen there before."""
        seen = getattr(owner, name, None)
        old = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)

        def undo() -> None:
            if old is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, old)

        self._undo.append(undo)
        return seen

    def put(self, mapping: Any, key: object, value: object) -> None:
        """Set an item of a mapping or list."""
        old = mapping.get(key, _ABSENT) if hasattr(mapping, "get") else mapping[key]
        mapping[key] = value

        def undo() -> None:
            if old is _ABSENT:
                del mapping[key]
            else:
                mapping[key] = old

        self._undo.append(undo)

    def on_exit(self, undo: Callable[[], None]) -> None:
        """Call this when the others are put back."""
        self._undo.append(undo)

    def restore(self) -> None:
        """Put everything back."""
        while self._undo:
            self._undo.pop()()
