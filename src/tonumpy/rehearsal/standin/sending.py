"""Tensors of the stand-in that are sent to another process, by a queue, a pipe or the arguments of what is spawned."""

from __future__ import annotations

import functools
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch
from torch.multiprocessing import reductions

from tonumpy.rehearsal.sending import Sent, received
from tonumpy.rehearsal.standin.marks import Base, mark_of, put
from tonumpy.rehearsal.standin.state import HOST

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches) -> None:
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
        """What a worker has sent lies on the CPU."""
        made = rebuild_tensor(*args)
        put(made, HOST)
        return made

    patches.replace(reductions, "rebuild_tensor", rebuilt)
    reducers = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    for kind, reducer in list(reducers.items()):
        if reducer is reduce_tensor:
            patches.put(reducers, kind, reduce)
