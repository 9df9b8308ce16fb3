"""Patches what processes or devices share: sending of tensors, process groups of NCCL, `DataParallel`.

Tensors are sent by a queue, a pipe or the arguments of a spawned process. NCCL's groups use Gloo, and `DataParallel`
computes on one device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
import torch.distributed
from torch.multiprocessing import reductions
from torch.utils._pytree import tree_map

from tonumpy.rehearsal.sending import received
from tonumpy.rehearsal.standin.marks import HOST, STATE, put_all
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.reporting import warn


def _reduced(reducer: Callable[[Any], Any], value: Any) -> Any:
    """Pickle a tensor, or its storage, as CPU memory; the receiver restores a tensor's mark."""
    is_tensor = isinstance(value, torch.Tensor)
    if is_tensor and value.layout is not torch.strided:
        return reducer(value)
    storage = value.untyped_storage() if is_tensor else value
    mark, storage.mark = storage.mark, HOST
    try:
        made = reducer(value)
    finally:
        storage.mark = mark
    return (received, (*made, str(mark.place))) if is_tensor and mark.pretended else made


def patch(patches: Patches) -> None:
    """Patch these functions. Torch still refuses what it cannot send."""
    # A tensor sent without a mark is on the CPU.
    patches.around(reductions, "rebuild_tensor", lambda rebuild, *args: put_all(rebuild(*args), HOST))
    reducers = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    for kind, reducer in list(reducers.items()):
        if reducer in (reductions.reduce_tensor, reductions.reduce_storage):
            patches.put(reducers, kind, functools.partial(_reduced, reducer))
    patches.replace(torch.nn.DataParallel, "forward", _forward)
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d as c10d

    for module in (torch.distributed, c10d):
        patches.replace(module, "is_nccl_available", lambda: True)
        for name in ("init_process_group", "new_group"):
            patches.around(module, name, _with_gloo)


def _forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
    """Run the whole batch on the first device, and move the result to the output device."""
    if not self.device_ids:
        return self.module(*inputs, **kwargs)
    there = torch.device(STATE.kind, self.device_ids[0])
    inputs, kwargs = tree_map(lambda each: each.to(there) if isinstance(each, torch.Tensor) else each, (inputs, kwargs))
    result = self.module(*inputs, **kwargs)
    gathered = torch.device(STATE.kind, self.output_device)
    return tree_map(lambda each: each.to(gathered) if isinstance(each, torch.Tensor) else each, result)


def _with_gloo(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    given = [_gloo(each) for each in arguments]
    named = {name: _gloo(value) if name == "backend" else value for name, value in named.items()}
    if "gloo" in (*given, named.get("backend")):
        named.pop("device_id", None)  # for NCCL alone
    return function(*given, **named)


def _gloo(backend: Any) -> Any:
    if not isinstance(backend, str) or "nccl" not in backend.lower():
        return backend
    warn("torch.distributed: NCCL needs real devices; gloo joins the processes in its place")
    return "gloo" if ":" not in backend else backend.lower().replace("nccl", "gloo")
