"""Kernels that a program registers for its device: they are called for tensors of the stand-in."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.marks import mark_of, tensors_in
from tonumpy.rehearsal.standin.state import STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

_KEYS = {"cuda": "CUDA", "mps": "MPS", "xpu": "XPU", "npu": "PrivateUse1"}  # torch's dispatch keys


def patch(patches: Patches) -> None:
    """Watch registrations until `patches` are restored. Torch sees CPU tensors, so both keys share a kernel."""
    impl = torch.library.Library.impl
    kernels: dict[tuple[int, str], dict[str, Callable[..., Any]]] = {}

    @functools.wraps(impl)
    def registered(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
        key = _KEYS[STATE.kind]
        if dispatch_key not in (key, "CPU") or not callable(fn):
            return impl(self, op_name, fn, dispatch_key, **options)
        known = kernels.setdefault((id(self), str(op_name)), {})
        is_first = not known
        known[dispatch_key] = fn
        return impl(self, op_name, _chooser(known, key), "CPU", **options) if is_first else None

    patches.replace(torch.library.Library, "impl", registered)


def _chooser(known: dict[str, Callable[..., Any]], key: str) -> Callable[..., Any]:
    def kernel(*args: Any, **kwargs: Any) -> Any:
        wanted = key if any(mark_of(each).pretended for each in tensors_in((args, kwargs))) else "CPU"
        if wanted not in known:
            raise NotImplementedError(f"Could not run this operator with arguments from the '{wanted}' backend")
        return known[wanted](*args, **kwargs)

    return kernel
