"""A tensor -> its name in the user's own code, and the line of that which made it or moved it where it is."""

from __future__ import annotations

import ast
import functools
import os
import sys
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from tonumpy.rehearsal.holders import holders_of
from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin.texts import tree_of
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from tonumpy.rehearsal.standin.patches import Patches

_MOST_FRAMES = 60
_MOST_SIZES = 3


class _Origin(NamedTuple):
    """`place`: the code, and where in it; the line, which takes Python a search, is asked for where it is told."""

    reference: weakref.ref[Any]
    how: str
    code: CodeType
    instruction: int

    @property
    def place(self) -> tuple[str, int]:
        rows = (row for first, last, row in self.code.co_lines() if first <= self.instruction < last)
        return self.code.co_filename, next(rows, None) or self.code.co_firstlineno


class Origins:
    """Remembers the tensors that Python code made or moved, as long as they live."""

    def __init__(self) -> None:
        self._known: dict[int, _Origin] = {}

    def patch(self, patches: Patches) -> None:
        """Let torch exchange tensors, which it does not where references to them are left, until `patches` are
        restored."""
        swap = torch.utils.swap_tensors

        @functools.wraps(swap)
        def swap_tensors(t1: Any, t2: Any) -> None:
            for each in (t1, t2):
                self._known.pop(id(each), None)
            swap(t1, t2)

        patches.replace(torch.utils, "swap_tensors", swap_tensors)

    def note(self, tensor: Any, how: str) -> Any:
        """The tensor, which the caller's caller has got."""
        frame = _own_frame(2)
        if frame is not None and isinstance(tensor, torch.Tensor):
            key, known = id(tensor), self._known
            reference = weakref.ref(tensor, lambda _: known.pop(key, None))
            known[key] = _Origin(reference, how, frame.f_code, frame.f_lasti)
        return tensor

    def words(self, tensor: Any) -> str:
        """ "`target`, float32 of shape (8, 2) on cpu, made at train.py:9"."""
        frame = _own_frame(1)
        name = None if frame is None else _name(tensor, frame)
        sizes = "" if tensor.dim() > _MOST_SIZES else f" of shape {tuple(tensor.shape)}"
        what = f"{str(tensor.dtype).removeprefix('torch.')}{sizes} on {tensor.device}"
        found = self._known.get(id(tensor))
        if found is not None and found.reference() is tensor:
            where = f", {found.how} at {_shown(*found.place)}"
        else:
            row = None if frame is None or name is None else _bound(frame, name)
            where = "" if row is None or frame is None else f", bound at {_shown(frame.f_code.co_filename, row)}"
        return f"`{name}`, {what}{where}" if name else f"{what}{where}"


def place_of_caller() -> str:
    """Where the user's own code is: "train.py:9"."""
    frame = _own_frame(1)
    return "an unknown place" if frame is None else _shown(frame.f_code.co_filename, frame.f_lineno)


def _own_frame(depth: int) -> FrameType | None:
    """The innermost frame of the user's own code."""
    frame: FrameType | None = sys._getframe(depth + 1)
    left = _MOST_FRAMES
    while frame is not None and left and not is_own(frame.f_code.co_filename):
        frame = frame.f_back
        left -= 1
    return frame if left else None


def _name(tensor: Any, frame: FrameType) -> str | None:
    """In the user's own code; of what a module of torch has, its name there."""
    held = next((each.name for each in holders_of(tensor, frame) if each.kind == "itself"), None)
    if held is not None:
        return held
    inner: FrameType | None = sys._getframe(1)
    while inner is not None and inner is not frame:
        owner = inner.f_locals.get("self")
        if isinstance(owner, torch.nn.Module):
            for table in (owner._parameters, owner._buffers):
                for name, value in table.items():
                    if value is tensor:
                        return f"{type(owner).__name__}.{name}"
        inner = inner.f_back
    return None


def _bound(frame: FrameType, name: str) -> int | None:
    """The last line before this one that binds the name in the function."""
    code = frame.f_code
    tree = tree_of(code.co_filename)
    if tree is None or "." in name:
        return None
    first = 0 if code.co_name == "<module>" else code.co_firstlineno
    rows = [
        node.lineno
        for node in walk(tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return max((row for row in rows if first <= row <= frame.f_lineno), default=None)


def _shown(filename: str, row: int) -> str:
    relative = os.path.relpath(filename)
    return f"{filename if relative.startswith(os.pardir) else relative}:{row}"
