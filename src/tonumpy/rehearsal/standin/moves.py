"""`parameter.data = tensor of another device`, which is how a module is moved: the tensor stays the same object."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.warning import warn

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.origins import Origins
    from tonumpy.rehearsal.standin.patches import Patches

Tensor = torch.Tensor
_data = torch._C.TensorBase.data


def patch(patches: Patches, origins: Origins) -> None:
    """Let data cross between the CPU and the stand-in until `patches` are restored.

    C++ does not know that both are plain memory, and refuses; the modules would get new parameters, and an optimizer
    that was made before would go on with the old ones.
    """
    is_compatible = torch._has_compatible_shallow_copy_type

    def compatible(tensor: Any, other: Any) -> bool:
        return bool(is_compatible(tensor, other) or _cross(tensor, other))

    def get(self: Any) -> Any:
        return _data.__get__(self)

    def put(self: Any, value: Any) -> None:
        if _cross(self, value):
            try:
                _exchange(self, value)
            except Exception as problem:
                warn(f"Tensor.data: it stays where it is ({type(problem).__name__}: {problem})")
                _data.__set__(self, value.to(_device_of(self)))
            origins.note(self, "moved there")
        else:
            _data.__set__(self, value)

    patches.replace(torch, "_has_compatible_shallow_copy_type", compatible)
    patches.replace(Tensor, "data", property(get, put))


def _cross(tensor: Any, other: Any) -> bool:
    """Whether one lies on the CPU and the other on the stand-in, and both are plain."""
    if not isinstance(other, Tensor) or tensor.is_maia == other.is_maia:
        return False
    both = (tensor, other)
    return all(each.is_maia or each.is_cpu for each in both) and all(each.layout is torch.strided for each in both)


def _exchange(tensor: Any, value: Any) -> None:
    grad, is_leaf_of_grad = tensor.grad if tensor.is_leaf else None, tensor.is_leaf and tensor.requires_grad
    new = value.detach()
    if is_leaf_of_grad:
        tensor.grad = None
        new.requires_grad_()
    torch._C._swap_tensor_impl(tensor, new)
    if is_leaf_of_grad:
        _pass_on(new, tensor)
    if grad is not None:
        tensor.grad = grad.to(_device_of(tensor))


def _pass_on(old: Any, tensor: Any) -> None:
    """A graph that stands already leads to what the tensor was: the gradient that comes there is the tensor's."""
    reference = weakref.ref(tensor)

    def pass_on(found: Any) -> None:
        now = reference()
        if now is not None and found.grad is not None:
            grad = found.grad.to(_device_of(now))
            now.grad = grad if now.grad is None else now.grad + grad
            found.grad = None

    old.register_post_accumulate_grad_hook(pass_on)


def _device_of(tensor: Any) -> Any:
    return torch._C.TensorBase.device.__get__(tensor)
