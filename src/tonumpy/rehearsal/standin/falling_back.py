"""A function that takes the place of one of torch's -> the same, whose own errors end no program.

Where it fails, torch's own does the same on the CPU, and a warning names it. What fails there too is the program's own
fault.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.memory import INNER, is_inner, to_host
from tonumpy.rehearsal.standin.refusal import is_refusal
from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from collections.abc import Callable

    Inner = Callable[[Any], Any]  # Names.inner

REFUSAL = "Expected all tensors to be on the same device, but found at least two devices, "
NO_DEVICE = "No CUDA GPUs are available"
_CPU = torch.device("cpu")


def falling_back(name: str, function: Callable[..., Any], old: Callable[..., Any], inner: Inner) -> Callable[..., Any]:
    """`function` takes the place of `old`, which the program calls `name`."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as problem:
            if is_refusal(problem) or str(problem).startswith((REFUSAL, NO_DEVICE)):
                raise
            try:
                result = old(*(_on_host(each, inner) for each in args), **_options(kwargs, inner))
            except Exception:
                raise problem from None
            warn(f"{name}: its result stays on the CPU ({type(problem).__name__}: {problem})")
            return result

    return guarded


def _options(options: dict[str, Any], inner: Inner) -> dict[str, Any]:
    return {key: _on_host(each, inner) for key, each in options.items() if key != "pin_memory"}


def _on_host(value: Any, inner: Inner) -> Any:
    """What is not on the stand-in stays what it is."""
    if isinstance(value, torch.Tensor):
        return to_host(value.detach()).requires_grad_(value.requires_grad) if value.is_maia else value
    if isinstance(value, torch.UntypedStorage):
        return _storage_on_host(value)
    if isinstance(value, (str, torch.device)):
        return _CPU if is_inner(inner(value)) else value
    return value


def _storage_on_host(storage: Any) -> Any:
    if torch._C.StorageBase.device.__get__(storage).type != "maia":
        return storage
    return to_host(torch.empty(0, dtype=torch.uint8, device=INNER).set_(storage)).untyped_storage()
