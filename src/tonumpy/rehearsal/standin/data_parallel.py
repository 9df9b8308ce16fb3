"""`torch.nn.DataParallel` and process groups of NCCL: the same program, computed by one device, or joined by Gloo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.distributed
from torch.utils._pytree import tree_map

from tonumpy.rehearsal.standin.state import STATE
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches) -> None:
    """Let both be had until `patches` are restored."""
    patches.replace(torch.nn.DataParallel, "forward", _forward)
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d as c10d

    def is_nccl_available() -> bool:
        return True

    replaced = {name: _with_gloo(getattr(c10d, name)) for name in ("init_process_group", "new_group")}
    for name, function in {**replaced, "is_nccl_available": is_nccl_available}.items():
        for module in (torch.distributed, c10d):
            patches.replace(module, name, function)


def _forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
    """The whole batch on the first device, which is where its parts come together on real hardware."""
    if not self.device_ids:
        return self.module(*inputs, **kwargs)
    there = torch.device(STATE.kind, self.device_ids[0])
    inputs, kwargs = tree_map(lambda each: each.to(there) if isinstance(each, torch.Tensor) else each, (inputs, kwargs))
    result = self.module(*inputs, **kwargs)
    gathered = torch.device(STATE.kind, self.output_device)
    return tree_map(lambda each: each.to(gathered) if isinstance(each, torch.Tensor) else each, result)


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
