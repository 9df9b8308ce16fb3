"""Tensors of the stand-in that are sent to another process, by a queue, a pipe or the arguments of what is spawned."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import torch
from torch.multiprocessing.reductions import reduce_tensor

from tonumpy.rehearsal.sending import Sent, received
from tonumpy.rehearsal.standin.memory import to_host

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches) -> None:
    """Let them arrive until `patches` are restored. What torch itself refuses to send is refused by torch."""

    def reduce(tensor: Any) -> Any:
        is_plain = tensor.is_maia and tensor.layout is torch.strided and (tensor.is_leaf or not tensor.requires_grad)
        if not is_plain:
            return reduce_tensor(tensor)
        host = to_host(tensor.detach()).clone(memory_format=torch.contiguous_format)
        raw = torch.empty(0, dtype=torch.uint8).set_(host.untyped_storage())
        parameter = type(tensor) if isinstance(tensor, torch.nn.Parameter) else None
        data = torch._C.TensorBase.numpy(raw).tobytes()
        shape, device = tuple(tensor.shape), str(tensor.device)
        return received, Sent(data, tensor.dtype, shape, device, parameter, tensor.requires_grad)

    reducers = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    for kind, reducer in list(reducers.items()):
        if reducer is reduce_tensor:
            patches.put(reducers, kind, reduce)
