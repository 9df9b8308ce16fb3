"""Rebuilds a stand-in tensor that another process has sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def received(rebuild: Callable[..., Any], fields: tuple[Any, ...], device: str) -> Any:  # noqa: ANN401
    """Rebuild the tensor from shared memory and mark it with the device that it had in the sender."""
    import torch  # the receiver begins to rehearse at this import

    tensor = rebuild(*fields)
    tensor.untyped_storage().mark = torch.empty(0, device=device).untyped_storage().mark
    return tensor
