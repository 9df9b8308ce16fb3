"""Names a tensor in the user's own code, and the line that made it or moved it where it is."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.frames import names_of, own_frame
from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin.marks import PLAIN_TYPES, WITHOUT_STORAGE, count_modes, storage_of

if TYPE_CHECKING:
    from types import CodeType, FrameType

    # How it came there, the code, and the place in it, whose line, which takes Python a search, is looked up when it is
    # told.
    _Origin = tuple[str, CodeType, int]

_MOST_FRAMES = 60
_MOST_SIZES = 3


def note(tensor: Any, how: str) -> Any:
    """Remember the user's line that is running as the one that made the memory of a tensor, and return the tensor."""
    frame: FrameType | None = sys._getframe(2)
    left = _MOST_FRAMES
    while frame is not None and left and not is_own(frame.f_code.co_filename):
        frame = frame.f_back
        left -= 1
    if frame is None or not left or not isinstance(tensor, torch.Tensor):
        return tensor
    try:
        if type(tensor) in PLAIN_TYPES and not count_modes():
            storage_of(tensor).origin = how, frame.f_code, frame.f_lasti
            return tensor
        with torch._C.DisableTorchFunction():
            storage_of(tensor).origin = how, frame.f_code, frame.f_lasti
    except WITHOUT_STORAGE:
        pass
    return tensor


def words(tensor: Any) -> str:
    """ "`target`, float32 of shape (8, 2) on cpu, made at train.py:9"."""
    frame = own_frame(1)
    name = None if frame is None else _name(tensor, frame)
    sizes = "" if tensor.dim() > _MOST_SIZES else f" of shape {tuple(tensor.shape)}"
    what = f"{str(tensor.dtype).removeprefix('torch.')}{sizes} on {tensor.device}"
    origin = _origin_of(tensor)
    where = "" if origin is None else f", {origin[0]} at {_place(*origin[1:])}"
    return f"`{name}`, {what}{where}" if name else f"{what}{where}"


def _place(code: CodeType, instruction: int) -> str:
    rows = (row for first, last, row in code.co_lines() if first <= instruction < last)
    return shown(code.co_filename, next(rows, None) or code.co_firstlineno)


def place_of_caller() -> str:
    """The place of the user's own code: "train.py:9"."""
    frame = own_frame(1)
    return "an unknown place" if frame is None else shown(frame.f_code.co_filename, frame.f_lineno)


def _origin_of(tensor: Any) -> _Origin | None:
    try:
        found: _Origin | None = getattr(storage_of(tensor), "origin", None)
    except WITHOUT_STORAGE:
        return None
    return found


def _name(tensor: Any, frame: FrameType) -> str | None:
    """The name of a tensor in the user's own code; of a part of a torch module, its name there."""
    held = next((name for name, kind in names_of(tensor, frame) if kind == "itself"), None)
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


def shown(filename: str, row: int) -> str:
    relative = os.path.relpath(filename)
    return f"{filename if relative.startswith(os.pardir) else relative}:{row}"
