"""Tensors that are taken for values -> what the run is told of: keys, members of sets, and what pandas is given.

Python's sets and dicts ask a tensor for its hash, which is that of the object: one of a single number is told, as its
equals will not be found. Not one that requires grad: parameters are keys by what they are. pandas is patched once the
program has imported it.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.child.tonumpy_import_hook import WaitForImport
from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin.event_of import event
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tonumpy.rehearsal.events import Observer
    from tonumpy.rehearsal.standin.patches import Patches
    from tonumpy.rehearsal.standin.stacks import Stacks

_COMPARISONS = {"__eq__": "==", "__ne__": "!=", "eq": ".eq", "ne": ".ne", "isin": ".isin"}
_OF_MISSING = ("isna", "isnull", "notna", "notnull")


class Taken:
    """Tells of tensors that are taken for values."""

    def __init__(self, observer: Observer, stacks: Stacks) -> None:
        self._observer = observer
        self._stacks = stacks

    def patch(self, patches: Patches) -> None:
        """Notice them until `patches` are restored."""
        hashed = torch.Tensor.__hash__

        @functools.wraps(hashed)
        def hash_of(self_: Any) -> int:
            frame = sys._getframe(1)
            while frame.f_globals.get("__name__") == "collections" and frame.f_back is not None:
                frame = frame.f_back  # a Counter counts there
            if is_own(frame.f_code.co_filename) and self_.dim() == 0 and not self_.requires_grad:
                self._tell(self_, "a set, or a dict's key, tells tensors apart by identity")
            return int(hashed(self_))

        patches.replace(torch.Tensor, "__hash__", hash_of)
        if "pandas" in sys.modules:
            self._patch_pandas(sys.modules["pandas"], patches)
        else:
            self._wait_for_pandas(patches)

    def _wait_for_pandas(self, patches: Patches) -> None:
        def begin() -> None:
            leave()
            try:
                self._patch_pandas(sys.modules["pandas"], patches)
            except Exception as problem:
                warn(f"pandas is not followed ({type(problem).__name__}: {problem})")

        def leave() -> None:
            if hook in sys.meta_path:
                sys.meta_path.remove(hook)

        hook = WaitForImport("pandas", begin)
        sys.meta_path.insert(0, hook)
        patches.on_exit(leave)

    def _patch_pandas(self, pandas: ModuleType, patches: Patches) -> None:
        for kind in (pandas.Series, pandas.Index, pandas.DataFrame):
            for name, symbol in _COMPARISONS.items():
                if hasattr(kind, name):
                    words = f"`{symbol}` of pandas compares a tensor as one object, not its values"
                    patches.replace(kind, name, self._told(getattr(kind, name), words, 1))
        for name in _OF_MISSING:
            words = f"`pd.{name}` takes a tensor for one object"
            patches.replace(pandas, name, self._told(getattr(pandas, name), words, 0))
        indexer = type(pandas.Series([0]).iloc)
        words = "`.iloc` of pandas takes a tensor of bool for positions"
        patches.replace(
            indexer, "__getitem__", self._told(indexer.__getitem__, words, 1, lambda t: t.dtype == torch.bool)
        )
        words = "pandas keeps a tensor without dimensions as an object"
        frame = pandas.DataFrame
        patches.replace(frame, "__setitem__", self._told(frame.__setitem__, words, 2, lambda t: t.dim() == 0))
        patches.replace(frame, "__init__", self._told(frame.__init__, words, 1, None, in_rows=True))

    def _told(
        self,
        function: Callable[..., Any],
        words: str,
        place: int,
        is_meant: Callable[[Any], bool] | None = None,
        *,
        in_rows: bool = False,
    ) -> Callable[..., Any]:
        """The function, which tells of a tensor at a place of its arguments, or of one in rows or columns there."""

        @functools.wraps(function)
        def told(*args: Any, **kwargs: Any) -> Any:
            given = args[place] if len(args) > place else next(iter(kwargs.values()), None)
            for each in _in_rows(given) if in_rows else (given,):
                if isinstance(each, torch.Tensor) and (is_meant is None or is_meant(each)):
                    self._tell(each, words)
                    break
            return function(*args, **kwargs)

        return told

    def _tell(self, tensor: Any, words: str) -> None:
        try:
            self._observer(event(tensor, "taken for values", (), None, self._stacks)._replace(about=words), tensor)
        except Exception as problem:
            warn(f"a tensor that is taken for values is not told of ({type(problem).__name__}: {problem})")


def _in_rows(data: Any) -> list[Any]:
    """The numbers, as tensors, of a list of dicts, a dict of lists or a list."""
    parts = list(data.values()) if isinstance(data, dict) else data
    if not isinstance(parts, list):
        return []
    found: list[Any] = []
    for part in parts:
        if isinstance(part, dict | list):
            found += part.values() if isinstance(part, dict) else part
        elif isinstance(data, list):
            found.append(part)
    return [each for each in found if isinstance(each, torch.Tensor) and each.dim() == 0]
