"""Attributes of foreign objects, replaced for a while and put back exactly as they were."""

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
    """Let what is ours say where it is found, as `pickle` looks it up there: the first place is its own."""
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
        """Have `act(original, *args, **kwargs)` called in the place of a function or method, and return what is."""
        original = getattr(owner, name)

        @functools.wraps(original)
        def called(*args: Any, **kwargs: Any) -> Any:
            return act(original, *args, **kwargs) if kwargs else act(original, *args)

        self.replace(owner, name, called)
        return called

    def once_imported(self, name: str, act: Callable[[], None]) -> None:
        """Call `act` when a module has been imported; now, if it has been."""
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
        """A function that calls `act` once, at its first call: what few programs need is patched then."""
        return functools.cache(functools.partial(act, self))
