"""Casts of CUDA's autocast: torch keeps its state for the kind of device, and the casts of its lists are made here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin import operator_lists as lists
from tonumpy.rehearsal.standin.marks import Base, Tensor, mark_of
from tonumpy.rehearsal.standin.state import STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

_FLOATS = frozenset((torch.float16, torch.bfloat16, torch.float32))
_to = Base.to
_is_enabled = torch.is_autocast_enabled


def patch(patches: Patches) -> None:
    """Let `torch.autocast` of the kind of device be had until `patches` are restored."""
    is_available = torch._C._is_autocast_available

    def is_autocast_available(device_type: str) -> bool:
        return True if device_type == STATE.kind else bool(is_available(device_type))

    for owner in (torch._C, torch.amp.autocast_mode):
        for name in ("_is_autocast_available", "is_autocast_available"):
            if hasattr(owner, name):
                patches.replace(owner, name, is_autocast_available)
    patches.replace(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)


def casting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with the casts of CUDA's autocast before it, where its lists name it."""
    if name not in lists.LOWER and name not in lists.FULL:
        return function
    is_lower = name in lists.LOWER

    def cast(*args: Any, **kwargs: Any) -> Any:
        kind = STATE.kind
        if not _is_enabled(kind) or (not is_lower and kwargs.get("dtype") is not None):
            return function(*args, **kwargs)
        dtype = torch.get_autocast_dtype(kind) if is_lower else torch.float32
        args = tuple(_cast(each, dtype) for each in args)
        kwargs = {key: _cast(each, dtype) for key, each in kwargs.items()}
        return function(*args, **kwargs)

    return cast


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, Tensor):
        if value.dtype in _FLOATS and value.dtype is not dtype and mark_of(value).pretended:
            return _to(value, dtype)
    elif type(value) is list or type(value) is tuple:
        return type(value)(_cast(each, dtype) for each in value)
    return value
