"""`torch.distributed` with NCCL: the same program, its processes joined by Gloo, on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.distributed

from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches) -> None:
    """Let groups of NCCL be groups of Gloo until `patches` are restored."""
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d as c10d

    def is_nccl_available() -> bool:
        return True

    replaced = {name: _with_gloo(getattr(c10d, name)) for name in ("init_process_group", "new_group")}
    for name, function in {**replaced, "is_nccl_available": is_nccl_available}.items():
        for module in (torch.distributed, c10d):
            patches.replace(module, name, function)


def _with_gloo(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(*arguments: Any, **named: Any) -> Any:
        given = [_gloo(each) for each in arguments]
        named = {name: _gloo(value) if name == "backend" else value for name, value in named.items()}
        if "gloo" in (*given, named.get("backend")):
            named.pop("device_id", None)  # for NCCL alone
        return function(*given, **named)

    made.__name__ = made.__qualname__ = function.__name__
    return made


def _gloo(backend: Any) -> Any:
    if not isinstance(backend, str) or "nccl" not in backend.lower():
        return backend
    warn("torch.distributed: NCCL needs real devices; gloo joins the processes in its place")
    return "gloo" if ":" not in backend else backend.lower().replace("nccl", "gloo")
