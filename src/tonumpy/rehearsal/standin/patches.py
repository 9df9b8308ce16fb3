"""Replaces attributes of foreign objects for a while and restores them exactly."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from tonumpy.rehearsal.child.tonumpy_import_hook import WaitForImport

_ABSENT = object()


def _name(value: Any, owner: Any, name: str) -> None:
    """Give a function or class of ours the name and module of its first place, where `pickle` looks it up."""
    if isinstance(value, (types.FunctionType, type)) and (value.__module__ or "tonumpy.").startswith("tonumpy."):
        is_method = isinstance(owner, type)
        value.__name__ = name
        value.__qualname__ = f"{owner.__qualname__}.{name}" if is_method else name
        value.__module__ = owner.__module__ if is_method else getattr(owner, "__name__", value.__module__)


class Patches(ExitStack):
    """The replaced attributes, with their former values; the last replaced is put back first."""

    def replace(self, owner: Any, name: str, value: object) -> None:
        """Set an attribute of a module, class or object."""
        old = vars(owner).get(name, _ABSENT)
        _name(value, owner, name)
        setattr(owner, name, value)
        self.callback(*((delattr, owner, name) if old is _ABSENT else (setattr, owner, name, old)))

    def put(self, mapping: Any, key: object, value: object) -> None:
        """Set an item of a mapping."""
        old = mapping.get(key, _ABSENT)
        mapping[key] = value
        self.callback(*((mapping.pop, key, None) if old is _ABSENT else (mapping.__setitem__, key, old)))

    def around(self, owner: Any, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        """Replace a function or method by a wrapper that calls `act(original, *args, **kwargs)`; return the wrapper."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def called(*args: Any, **kwargs: Any) -> Any:
            return act(original, *args, **kwargs) if kwargs else act(original, *args)

        self.replace(owner, name, called)
        return called

    def once_imported(self, name: str, act: Callable[[], None]) -> None:
        """Call `act` once a module is imported; at once if it is already."""
        if name in sys.modules:
            act()
            return

        def begin() -> None:
            leave()
            act()

        def leave() -> None:
            if hook in sys.meta_path:
                sys.meta_path.remove(hook)

        hook = WaitForImport(name, begin)
        sys.meta_path.insert(0, hook)
        self.callback(leave)

    def later(self, act: Callable[[Patches], None]) -> Callable[[], None]:
        """A function that calls `act` at its first call only: for patches that few programs need."""
        return functools.cache(functools.partial(act, self))
