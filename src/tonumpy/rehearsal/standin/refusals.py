"""Refusals of a kind of device beside tensors of another one: dtypes, operators that it lacks, in torch's words.

What MPS lacks is that of torch 2.13: native_functions.yaml names a kernel for the CPU and none for MPS, and
`torch.testing._internal.common_mps` lists the function as not implemented there. Operators that no user's code reaches,
or that MPS reaches by another way (convolutions, the SVD), are left out.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.marks import is_pretended, mark_of, tensors_in
from tonumpy.rehearsal.standin.state import STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]

# The function as Python calls it -> the operator that torch names in the error, where that is not the same.
_FUNCTIONS = """
    adaptive_avg_pool3d:_adaptive_avg_pool3d ctc_loss:_ctc_loss.Tensor _int_mm linalg_eigvals:_linalg_eigvals
    eigvals:_linalg_eigvals pdist:_pdist_forward binomial fractional_max_pool2d:fractional_max_pool2d.output
    fractional_max_pool3d:fractional_max_pool3d.output geqrf linalg_eig eig:linalg_eig linalg_matrix_exp
    matrix_exp:linalg_matrix_exp linalg_lstsq:linalg_lstsq.out lstsq:linalg_lstsq.out logspace:logspace.out mode
    multi_margin_loss multilabel_margin_loss:multilabel_margin_loss_forward ormqr poisson put_ put:put_
    quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic rrelu:rrelu_with_noise
    rrelu_:rrelu_with_noise_ rrelu_with_noise take linalg_eigh:_linalg_eigh.eigenvalues eigh:_linalg_eigh.eigenvalues
    linalg_eigvalsh:_linalg_eigh.eigenvalues eigvalsh:_linalg_eigh.eigenvalues
    adaptive_max_pool3d:adaptive_max_pool3d.out frexp:frexp.Tensor_out hash_tensor:hash_tensor.out
    heaviside:heaviside.out heaviside_:heaviside.out linalg_ldl_factor_ex:linalg_ldl_factor_ex.out
    linalg_ldl_factor:linalg_ldl_factor_ex.out ldl_factor:linalg_ldl_factor_ex.out
    linalg_ldl_solve:linalg_ldl_solve.out ldl_solve:linalg_ldl_solve.out special_airy_ai:special_airy_ai.out
    special_laguerre_polynomial_l:special_laguerre_polynomial_l.out
    special_legendre_polynomial_p:special_legendre_polynomial_p.out special_log_ndtr:special_log_ndtr.out
    special_ndtri:special_ndtri.out
"""
FALLBACK = "PYTORCH_ENABLE_MPS_FALLBACK"  # where it is set, these run on the CPU


def _pair(word: str) -> tuple[str, str]:
    name, _, operator = word.partition(":")
    return name, operator or name


LACKS: dict[str, str] = dict(map(_pair, _FUNCTIONS.split()))


def words_of_lack(operator: str) -> str:
    """torch's words for an operator without a kernel."""
    return (
        f"The operator 'aten::{operator}' is not currently implemented for the MPS device. If you want this op to be"
        " considered for addition please comment on https://github.com/pytorch/pytorch/issues/141287 and mention"
        " use-case, that resulted in missing op as well as commit hash"
        f" {torch.version.git_version}. As a temporary fix, you can set the environment variable `{FALLBACK}=1` to use"
        " the CPU as a fallback for this op. WARNING: this will be slower than running natively on MPS."
    )


_DOUBLES = {
    torch.float64: "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."
    " Please use float32 instead.",
    torch.complex128: "Trying to convert ComplexDouble to the MPS backend but it does not have support for that dtype.",
}
# Products that CUDA has for no integers.
_PRODUCTS = frozenset(
    "matmul __matmul__ __rmatmul__ mm bmm mv dot vdot addmm addmm_ baddbmm baddbmm_ addmv linear einsum inner".split()
)
_BY_DIMENSIONS = {(1, 1): "dot", (2, 1): "addmv_impl_cuda", (1, 2): "addmv_impl_cuda", (2, 2): "addmm_cuda"}
_BY_NAME = {
    "bmm": "baddbmm_cuda", "baddbmm": "baddbmm_cuda", "baddbmm_": "baddbmm_cuda", "einsum": "baddbmm_cuda",
    "addmm": "addmm_cuda", "addmm_": "addmm_cuda", "linear": "addmm_cuda", "addmv": "addmv_impl_cuda", "vdot": "vdot",
}  # fmt: skip
_WORDS = {
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
}


def check_dtype(tensor: Any) -> None:
    """Raise TypeError for a tensor of a dtype that its device has not."""
    if STATE.kind == "mps" and isinstance(tensor, torch.Tensor) and tensor.dtype in _DOUBLES and is_pretended(tensor):
        raise TypeError(_DOUBLES[tensor.dtype])


def refusing(name: str, function: Function) -> Function:
    """The function, which refuses what the kind of device refuses."""
    if name == "_pack_padded_sequence":
        return _with_lengths_on_cpu(function)
    if STATE.kind == "cuda" and name in _PRODUCTS:
        return _without_integers(name, function)
    if STATE.kind == "mps":
        return _of_mps(name, function)
    return function


def _with_lengths_on_cpu(function: Function) -> Function:
    def packed(data: Any, lengths: Any, *args: Any) -> Any:
        mark = mark_of(lengths)
        if mark.pretended:
            kind = lengths.cpu().type().removeprefix("torch.").removesuffix("Tensor")
            found = f"{lengths.dim()}D {mark.place} {kind} tensor"
            raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {found}")
        return function(data, lengths, *args)

    return packed


def _without_integers(name: str, function: Function) -> Function:
    def product(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args and isinstance(args[0], torch.Tensor) else next(iter(tensors_in(args)), None)
        word = None if first is None else _WORDS.get(first.dtype)
        if word is not None and is_pretended(first):
            raise NotImplementedError(f"\"{_of_cuda(name, args)}\" not implemented for '{word}'")
        return function(*args, **kwargs)

    return product


def _of_cuda(name: str, args: Any) -> str:
    """The name of CUDA's own function for a product."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    dimensions = tuple(each.dim() for each in tensors_in(args))
    return _BY_DIMENSIONS.get(dimensions[:2], "baddbmm_cuda")


def _of_mps(name: str, function: Function) -> Function:
    lack = LACKS.get(name)
    if lack is not None and os.environ.get(FALLBACK, "0") in ("0", ""):

        def lacking(*args: Any, **kwargs: Any) -> Any:
            given = tensors_in((args, kwargs))
            if any(map(is_pretended, given)) or STATE.place(kwargs.get("device")) is not None:
                raise NotImplementedError(words_of_lack(lack))
            return function(*args, **kwargs)

        return lacking

    def single(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        made = [each for each in tensors_in((result,)) if each.dtype in _DOUBLES]
        if made and any(map(is_pretended, tensors_in((args, kwargs)))):
            raise TypeError(_DOUBLES[made[0].dtype])
        return result

    return single
