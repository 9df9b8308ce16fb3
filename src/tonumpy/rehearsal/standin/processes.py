"""Pretends what several processes or devices share: tensors that are sent, process groups of NCCL, `DataParallel`.

Tensors arrive by a queue, a pipe or the arguments of what is spawned. The processes of NCCL are joined by Gloo, and
`DataParallel` computes on one device.
"""

from __future__ import annotations

import functools
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed
from torch.multiprocessing import reductions
from torch.utils._pytree import tree_map

from tonumpy.rehearsal.sending import Sent, received
from tonumpy.rehearsal.standin.marks import Base, mark_of, put
from tonumpy.rehearsal.standin.reporting import warn
from tonumpy.rehearsal.standin.state import HOST, STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches


def _patch_sending(patches: Patches) -> None:
    """Let them arrive until `patches` are restored. What torch itself refuses to send is refused by torch."""
    reduce_tensor, rebuild_tensor = reductions.reduce_tensor, reductions.rebuild_tensor

    def reduce(tensor: Any) -> Any:
        place = mark_of(tensor).place
        is_plain = tensor.layout is torch.strided and (tensor.is_leaf or not tensor.requires_grad)
        if place.type == "cpu" or not is_plain:
            return reduce_tensor(tensor)
        host = tensor.detach().cpu().contiguous()
        raw = torch.empty(0, dtype=torch.uint8, device="cpu").set_(host.untyped_storage())
        parameter = type(tensor) if isinstance(tensor, torch.nn.Parameter) else None
        data = Base.numpy(raw).tobytes()
        return received, Sent(data, tensor.dtype, tuple(tensor.shape), str(place), parameter, tensor.requires_grad)

    @functools.wraps(rebuild_tensor)
    def rebuilt(*args: Any) -> Any:
        """Rebuild what a worker has sent, which lies on the CPU."""
        made = rebuild_tensor(*args)
        put(made, HOST)
        return made

    patches.replace(reductions, "rebuild_tensor", rebuilt)
    reducers = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    for kind, reducer in list(reducers.items()):
        if reducer is reduce_tensor:
            patches.put(reducers, kind, reduce)


def patch(patches: Patches) -> None:
    """Let both be had until `patches` are restored."""
    _patch_sending(patches)
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
