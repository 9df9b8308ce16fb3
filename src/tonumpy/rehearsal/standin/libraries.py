"""What the libraries of NVIDIA that torch is built with would answer: cuDNN, cuFFT, NCCL, the CUDA runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.cuda.nccl

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches
    from tonumpy.rehearsal.standin.usage import Usage

_CUDA, _CUDNN, _NCCL = "12.8", 91002, (2, 27, 3)  # versions of the year of torch 2.9
_AREAS = ("all", "large_pool", "small_pool")
_KINDS = ("current", "peak", "allocated", "freed")
_COUNTED = (
    "allocation segment active inactive_split allocated_bytes reserved_bytes active_bytes inactive_split_bytes"
    " requested_bytes"
).split()
_SINGLE = "num_alloc_retries num_ooms num_sync_all_streams num_device_alloc num_device_free max_split_size".split()


def patch(patches: Patches) -> None:
    """Let them answer until `patches` are restored."""
    patches.replace(torch.backends.cudnn, "is_available", lambda: True)
    patches.replace(torch.backends.cudnn, "version", lambda: _CUDNN)
    patches.replace(torch.backends.cuda, "cufft_plan_cache", PlanCache())
    patches.replace(torch.cuda.nccl, "version", lambda: _NCCL)
    patches.replace(torch.cuda.nccl, "is_available", lambda tensors: False)  # noqa: ARG005
    patches.replace(torch.cuda, "cudart", Runtime)
    patches.replace(torch.cuda, "current_blas_handle", lambda: 0)
    if torch.version.cuda is None:
        patches.replace(torch.version, "cuda", _CUDA)


def memory_stats(usage: Usage, number: int) -> dict[str, int]:
    """All that the allocator counts; what is known is how many bytes there are."""
    names = [f"{what}.{area}.{kind}" for what in _COUNTED for area in _AREAS for kind in _KINDS]
    names += [f"{what}.{kind}" for what in ("oversize_allocations", "oversize_segments") for kind in _KINDS]
    stats = dict.fromkeys([*sorted(names), *_SINGLE], 0)
    for what, now, peak in (("allocated", "allocated", "peak"), ("reserved", "reserved", "peak_reserved")):
        stats[f"{what}_bytes.all.current"] = usage.asked(now, number)
        stats[f"{what}_bytes.all.peak"] = usage.asked(peak, number)
    return stats


class PlanCache:
    """`torch.backends.cuda.cufft_plan_cache`: of each device, and of the current one."""

    size = 0
    max_size = 4096

    def clear(self) -> None:
        """It is empty."""

    def __getitem__(self, device: Any) -> PlanCache:
        return self


class Runtime:
    """`torch.cuda.cudart()`: each of its functions succeeds."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: 0  # noqa: ARG005
