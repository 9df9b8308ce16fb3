"""Sends a tensor of the stand-in to another process, and makes it there.

On real hardware both processes see the same memory; here the receiver gets a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any


class Sent(NamedTuple):
    """`data` are the bytes of the values, one after the other; `parameter` is the type of one that is a parameter."""

    data: bytes
    dtype: Any
    shape: tuple[int, ...]
    device: str
    parameter: Any
    requires_grad: bool


def received(*fields: Any) -> Any:  # noqa: ANN401
    """The tensor, of the fields of `Sent`."""
    import torch  # in the receiver, which begins to rehearse then

    sent = Sent(*fields)
    flat = torch.frombuffer(bytearray(sent.data), dtype=sent.dtype) if sent.data else torch.empty(0, dtype=sent.dtype)
    tensor = flat.reshape(sent.shape).to(sent.device)
    if sent.parameter is not None:
        return sent.parameter(tensor, requires_grad=sent.requires_grad)
    return tensor.requires_grad_(sent.requires_grad)
