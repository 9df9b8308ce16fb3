"""What would compile or spread over devices -> the same, run as plain Python on the one stand-in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch._dynamo  # whole before anything is replaced: it compares what torch has with what it expects
import torch.nn.parallel.scatter_gather

from tonumpy.rehearsal.standin.memory import INNER
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches) -> None:
    """Make them work until `patches` are restored."""
    patches.replace(torch, "compile", _compile)
    patches.replace(torch.nn.parallel.scatter_gather, "Scatter", _Scatter)
    _without_fast_path(patches)
    _without_fusion(patches)


def _compile(model: Any = None, **options: Any) -> Any:
    """`torch.compile`, which leaves everything as it is."""
    if model is None:
        return lambda given: _compile(given, **options)
    warn("torch.compile: on a stand-in accelerator the code runs as it is")
    return model


class _Scatter:
    """What `DataParallel` hands its inputs out with."""

    @staticmethod
    def apply(devices: Any, sizes: Any, dim: int, value: Any) -> tuple[Any, ...]:
        """The value on the only device."""
        del devices, sizes, dim
        return (value.to(INNER),)


def _without_fast_path(patches: Patches) -> None:
    """The fast path of attention makes nested tensors, which the stand-in cannot have."""
    mha = getattr(torch.backends, "mha", None)
    if mha is not None and mha.get_fastpath_enabled():
        mha.set_fastpath_enabled(False)
        patches.on_exit(lambda: mha.set_fastpath_enabled(True))


def _without_fusion(patches: Patches) -> None:
    """TorchScript would have code for a GPU made."""
    can_fuse = getattr(torch._C, "_jit_can_fuse_on_gpu", None)
    if can_fuse is not None and can_fuse():
        torch._C._jit_override_can_fuse_on_gpu(False)
        patches.on_exit(lambda: torch._C._jit_override_can_fuse_on_gpu(True))
