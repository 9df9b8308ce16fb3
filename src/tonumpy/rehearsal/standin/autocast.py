"""`torch.autocast(KIND)` -> torch's own autocast of the kind of device that the stand-in is in C++."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin import torchscript

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches

# How torch's functions name the kind of device; asked without one, they mean CUDA.
_FUNCTIONS = ("is_autocast_enabled", "set_autocast_enabled", "get_autocast_dtype", "set_autocast_dtype")


def patch(patches: Patches, kind: str) -> None:
    """Redirect autocast until `patches` are restored."""
    for name in _FUNCTIONS:
        torchscript.replace(patches, name, _redirected(getattr(torch, name), kind))
    is_available = torch._C._is_autocast_available

    def is_autocast_available(device_type: str) -> bool:
        return True if device_type == kind else bool(is_available(device_type))

    patches.replace(torch._C, "_is_autocast_available", is_autocast_available)
    before = torch.get_autocast_dtype("maia")
    patches.on_exit(lambda: torch.set_autocast_dtype("maia", before))
    torch.set_autocast_dtype("maia", torch.float16)


def _redirected(function: Any, kind: str) -> Any:
    takes_no_kind = function.__name__ in ("is_autocast_enabled", "set_autocast_enabled")

    def redirected(*args: Any, **kwargs: Any) -> Any:
        if args and args[0] == kind:
            return function("maia", *args[1:], **kwargs)
        if takes_no_kind and kind == "cuda" and not (args and isinstance(args[0], str)) and not kwargs:
            return function("maia", *args)
        return function(*args, **kwargs)

    redirected.__name__ = function.__name__
    return redirected
