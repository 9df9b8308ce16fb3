"""A tensor, and what happens to it -> the event that is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.events import Event
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from tonumpy.rehearsal.events import Observer, Reason, Way
    from tonumpy.rehearsal.standin.stacks import Stacks


def event(
    tensor: Any,
    way: Way,
    reasons: tuple[Reason, ...],
    error: tuple[str, str] | None,
    stacks: Stacks,
    *,
    is_handled: bool = False,
) -> Event:
    """What is told of a conversion of this tensor."""
    return Event(
        way,
        reasons,
        str(tensor.device),
        tensor.requires_grad,
        torch.is_grad_enabled(),
        str(tensor.dtype),
        str(tensor.layout),
        tuple(tensor.shape),
        stacks.read(),
        error,
        is_handled=is_handled,
    )


def tell(observer: Observer, stacks: Stacks, way: Way, what: str, tensor: Any, words: str) -> None:
    """Tell of what is wrong without an error, in words; `what` it is, for the warning if that fails."""
    try:
        observer(event(tensor, way, (), None, stacks)._replace(about=words), tensor)
    except Exception as problem:
        warn(f"{what} is not told of ({type(problem).__name__}: {problem})")
