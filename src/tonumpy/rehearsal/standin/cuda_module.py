"""What `torch.cuda` answers as with one GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches) -> None:
    """Make `torch.cuda` speak of one device until `patches` are restored."""
    answers: dict[str, Any] = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "is_initialized": True,
        "_lazy_init": None,
        "init": None,
        "synchronize": None,
        "empty_cache": None,
        "set_device": None,
        "manual_seed": None,
        "manual_seed_all": None,
        "is_bf16_supported": True,
        "get_device_name": "Stand-in",
        "get_device_capability": (8, 0),
        "memory_allocated": 0,
        "max_memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_reserved": 0,
        "reset_peak_memory_stats": None,
        "ipc_collect": None,
    }
    for name, value in answers.items():
        patches.replace(torch.cuda, name, _constant(name, value))


def _constant(name: str, value: Any) -> Any:
    def answer(*args: Any, **kwargs: Any) -> Any:  # noqa: ARG001
        return value

    answer.__name__ = name
    return answer
