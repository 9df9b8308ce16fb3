"""Reports asynchronous copies to the host that are read before anything waits for them (TNP204).

The stand-in copies at once, so the values are right; on hardware the memory would still hold its former content. All
pending copies are dropped when the host waits: at a synchronisation of a stream, an event or the device, at a read of a
tensor on the device, and at a copy between device and host without `non_blocking`.
Reads by NumPy cannot be observed: an array over pinned memory that such a copy overwrites is not reported.
"""

from __future__ import annotations

import ast
import itertools
import os
import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from tonumpy.detectors.waiting import view_waited_for
from tonumpy.rehearsal.frames import outward, own_frame, place_of_caller, tree_of
from tonumpy.rehearsal.standin import streams
from tonumpy.rehearsal.standin.factories import is_pinned, note_pinned
from tonumpy.rehearsal.standin.marks import CPU, HOST, Mark, Tensor, is_pretended, mark_of, tensors_in
from tonumpy.rehearsal.standin.operator_lists import INDEXING, READS, WAITS, WRITES_BY_INDEX
from tonumpy.rehearsal.standin.operators import keep_tensors_from_being_sequences
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.reporting import Reports, guarded
from tonumpy.text.tree_paths import path_at

_PENDING = Mark(CPU, is_rare=True)  # of storages that such a copy writes
_OF_MODULES = os.path.join(os.path.dirname(torch.__file__), "nn", "modules", "module.py")
# Parts of names of operators that read only the size and dtype of a tensor.
_MAKES_ANOTHER = ("_like", "new_")
_NOT_IN_PLACE = frozenset(
    "zero_ fill_ copy_ normal_ uniform_ random_ exponential_ bernoulli_ geometric_ cauchy_ log_normal_ resize_"
    " resize_as_ set_ requires_grad_ detach_ squeeze_ unsqueeze_ t_ transpose_ swapaxes_ swapdims_ as_strided_"
    " share_memory_ __index__ __init__ __iter__ __invert__ __int__".split()
)


class Copies:
    """The copies that nothing has waited for; their storages are marked `_PENDING` until the host waits."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports
        # By the storage that is written: the place of the copy.
        self._pending: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._any = self._pending.data  # type: ignore[attr-defined]  # a plain dict, as each call reads it
        self._follow: Callable[[], None] = lambda: None

    def patch(self, patches: Patches) -> None:
        """Patch the methods that copy; call it after moving.py and operators.py have patched."""
        streams.waiting.append(self._forget)
        patches.callback(streams.waiting.clear)
        methods = [patches.around(Tensor, name, self._moved) for name in ("to", "type", "cpu")]
        methods.append(patches.around(Tensor, "copy_", self._copied))
        lazy = torch.nn.UninitializedParameter.__mro__[1]  # it allows only listed methods
        patches.replace(lazy, "_allowed_methods", [*lazy._allowed_methods, *methods])
        self._follow = patches.later(self._patch_following)

    def _copied(self, copy: Callable[..., Any], target: Any, src: Any, non_blocking: bool = False) -> Any:
        is_towards = _is_towards_host(src, target)
        if not non_blocking and self._any and (is_towards or _is_towards_host(target, src)):
            streams.synchronize()
        result = copy(target, src, non_blocking)
        if non_blocking and is_towards and is_pinned(target):
            self._begin(target)
        return result

    def _moved(self, move: Callable[..., Any], tensor: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a method that may move a tensor between device and host: begin a pending copy, or drop those that are."""
        if not self._any and len(args) < 2 and not kwargs:  # `non_blocking` is never the first
            return move(tensor, *args)
        was_there = is_pretended(tensor)
        result = move(tensor, *args, **kwargs)
        is_there = is_pretended(result)
        if not isinstance(result, Tensor):  # of a class that overrides torch
            pass
        elif was_there is is_there:
            self.check(tensor) if not is_there and result is not tensor else None
        elif not _is_asked(args, kwargs):
            streams.synchronize()
        elif was_there and result.layout is torch.strided:
            nearest = itertools.islice(outward(sys._getframe(2)), 4)  # the parameters of a module are there since long
            if not any(each.f_code.co_filename == _OF_MODULES for each in nearest):
                self._begin(note_pinned(result))
        return result

    def _is_read(self, args: Any) -> bool:
        """True if the tensor is on the device, so that reading its value waits; else check it."""
        if is_pretended(args[0]):
            return True
        self.check(args[0])
        return False

    def _waited(self, is_waited_for: Callable[[Any], bool], act: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run a function, and drop the pending copies first if the host waits for these arguments."""
        if self._any and is_waited_for(args):
            streams.synchronize()
        return act(*args, **kwargs)

    def check(self, tensor: Any, *, is_array_made: bool = False) -> None:
        """Report a tensor that is read, if its copy is pending; if an array is made of it, unless the program waits
        before it reads the array."""
        if not self._any:
            return
        with guarded("Tensor.to: an unfinished copy is not told of"):
            storage: Any = tensor.untyped_storage() if mark_of(tensor) is _PENDING else None
            if storage in self._pending and not (is_array_made and is_view()):
                found = self._pending.pop(storage)
                storage.mark = HOST
                self._reports.tell("unfinished copy", tensor, f" (made at {found})")

    def look(self, name: str, tensors: list[Any], marks: list[Mark]) -> None:
        """Report the pending tensors that an operator reads."""
        if not self._any or any(word in name for word in _MAKES_ANOTHER) or any(each.pretended for each in marks):
            return
        read = [each for each, mark in zip(tensors, marks, strict=True) if mark is _PENDING]
        if read and not _only_writes(name, tensors, read):
            for each in read:
                self.check(each)

    def _begin(self, host: Any) -> None:
        self._follow()
        storage = host.untyped_storage()
        storage.mark = _PENDING
        self._pending[storage] = place_of_caller()

    def _patch_following(self, patches: Patches) -> None:
        """Patch the functions at which the host waits; done at the first copy."""
        waiting: tuple[tuple[frozenset[str], Callable[[Any], bool]], ...] = (
            (READS, self._is_read),
            (WAITS, lambda args: is_pretended(args[0])),
            (INDEXING | WRITES_BY_INDEX, _is_waited_for),
        )
        for names, is_waited_for in waiting:
            for name in names:
                for owner in (Tensor,) if names is READS else (Tensor, torch):
                    if hasattr(owner, name):
                        patches.around(owner, name, partial(self._waited, is_waited_for))
        keep_tensors_from_being_sequences(patches)

    def _forget(self) -> None:
        for storage in list(self._pending):
            storage.mark = HOST
        self._pending.clear()


def _only_writes(name: str, tensors: list[Any], read: list[Any]) -> bool:
    """True if an operator only overwrites the pending tensor, its first, and reads none."""
    if any(each is not tensors[0] for each in read):
        return False
    return name == "__setitem__" or name in _NOT_IN_PLACE


def _is_waited_for(args: Any) -> bool:
    """True if the host waits for an index operation: by a mask, or with values from the other side."""
    is_there = is_pretended(args[0])
    if is_there and any(each.dtype in (torch.bool, torch.uint8) for each in tensors_in(args[1:2])):
        return True
    return any(is_pretended(each) != is_there for each in tensors_in(args[2:3]))


def _is_asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """True if a move is asked for with `non_blocking`."""
    flags = [each for each in args if isinstance(each, bool)]  # `non_blocking` is the first of them
    return bool(kwargs.get("non_blocking", flags[0] if flags else False))


def _is_towards_host(source: Any, target: Any) -> bool:
    return is_pretended(source) and isinstance(target, Tensor) and not is_pretended(target)


def is_view() -> bool:
    """True if the user's running statement binds the array to a name, and its block waits before it reads that."""
    frame = own_frame(1)
    tree = None if frame is None else tree_of(frame.f_code.co_filename)
    path = [] if frame is None or tree is None else path_at(tree, frame.f_lineno)
    for holder, statement in itertools.pairwise(path):
        if isinstance(statement, ast.Assign):
            blocks = (getattr(holder, name, None) for name in ("body", "orelse", "finalbody"))
            block = next((each for each in blocks if isinstance(each, list) and statement in each), [])
            return view_waited_for(statement, block[block.index(statement) + 1 :]) is not None if block else False
    return False
