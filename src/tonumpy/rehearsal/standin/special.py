"""Operators whose kernel for the CPU will not do -> kernels for the stand-in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin import kernels, sparse
from tonumpy.rehearsal.standin.memory import to_device, to_host, to_host_with_bits

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.kernels import Kernel


_device_of = torch._C.TensorBase.device.__get__


def _efficientzerotensor(size: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    """Zeros without memory: here they have some."""
    del device, options
    return to_device(torch.zeros(size, dtype=dtype))


def _pack_padded_sequence(input: Any, lengths: Any, batch_first: bool) -> Any:
    """The sizes of the batches stay on the CPU, where the lengths must be: torch's own words for others."""
    if not lengths.is_cpu:
        kind = lengths.cpu().type().removeprefix("torch.").removesuffix("Tensor")
        found = f"{lengths.dim()}D {lengths.device} {kind} tensor"
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {found}")
    data, sizes = torch._VF._pack_padded_sequence(to_host(input), lengths, batch_first)
    return to_device(data), sizes


def _embedding_sparse_backward(
    grad: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """A sparse one, which is of a subclass here."""
    sparse_backward = torch.ops.aten.embedding_sparse_backward
    made = sparse_backward(to_host(grad), to_host(indices), num_weights, padding_idx, scale_grad_by_freq)
    return sparse.wrapped(made)


def copied(op: Any, kernel: Kernel) -> Kernel:
    """`_to_copy`, whose `kernel` serves rare arguments: a call of `to` takes half the time of one by the schema."""
    to = torch._C.TensorBase.to

    def copied(tensor: Any, **options: Any) -> Any:
        device = options.get("device")
        kind = _device_of(tensor).type if device is None else device.type
        if not _is_plain(tensor, options) or kind not in ("cpu", "maia") or kernels.on_result is not None:
            return kernel(tensor, **options)
        host = to_host_with_bits(tensor) if tensor.is_maia else tensor
        made = to(host, options.get("dtype") or host.dtype, False, True)
        return made if kind == "cpu" else kernels.devices(made, op)

    return copied


def _is_plain(tensor: Any, options: dict[str, Any]) -> bool:
    is_strided = tensor.layout is torch.strided and options.get("layout") in (None, torch.strided)
    is_as_it_lies = not tensor.is_quantized and options.get("memory_format") in (None, torch.preserve_format)
    return is_strided and is_as_it_lies and not torch.is_autocast_enabled("cpu")


def _widened(product: Any) -> Kernel:
    """A product of matrices whose result has a wider dtype, which the CPU does not have."""

    def kernel(*arguments: Any, out: Any = None, **options: Any) -> Any:
        *matrices, dtype = arguments
        result = product(*(each.to(dtype) for each in matrices), **options)
        return result if out is None else out.copy_(result)

    return kernel


# The same for operators that are made of others, before autograd takes them apart.
COMPOSED: dict[str, Kernel] = {"aten::embedding_sparse_backward": _embedding_sparse_backward}
KERNELS: dict[str, Kernel] = {
    "aten::_efficientzerotensor": _efficientzerotensor,
    "aten::_pack_padded_sequence": _pack_padded_sequence,
    "aten::resize_": kernels.resize,
}
KERNELS |= {
    f"aten::{product.__name__}.{overload}": _widened(product)
    for product in (torch.mm, torch.bmm, torch.addmm, torch.baddbmm)
    for overload in ("dtype", "dtype_out")
}
