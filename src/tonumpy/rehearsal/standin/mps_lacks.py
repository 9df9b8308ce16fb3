"""Operators that have no kernel for MPS in torch 2.13: native_functions.yaml names one for the CPU and none for MPS,
and `torch.testing._internal.common_mps` lists the function as not implemented there.

Operators that no user's code reaches, or that MPS reaches by another way (convolutions, the SVD), are left out.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.standin.refusal import refusal

if TYPE_CHECKING:
    from tonumpy.rehearsal.standin.kernels import Kernel

_OF_THEIR_OWN = """
    _adaptive_avg_pool3d _adaptive_avg_pool3d_backward _ctc_loss _ctc_loss.Tensor _ctc_loss_backward
    _ctc_loss_backward.Tensor _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _int_mm _int_mm.out
    _linalg_eigvals _pdist_backward _pdist_forward _segment_reduce_backward adaptive_avg_pool3d.out binomial
    fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask fractional_max_pool3d_backward
    geqrf geqrf.a glu_jvp linalg_eig linalg_eig.out linalg_eigvals.out linalg_lstsq.out linalg_matrix_exp logspace.out
    mode multi_margin_loss multi_margin_loss.out multi_margin_loss_backward multilabel_margin_loss_backward
    multilabel_margin_loss_forward ormqr ormqr.out poisson put_ quantize_per_channel quantize_per_tensor
    quantize_per_tensor.tensor_qparams quantize_per_tensor.tensors quantize_per_tensor_dynamic rrelu_with_noise
    rrelu_with_noise.out rrelu_with_noise_ segment_reduce take take.out
"""
# Torch calls the second for the first, so it is named in the error.
_BY_ANOTHER = """
    _linalg_eigh:_linalg_eigh.eigenvalues adaptive_max_pool3d:adaptive_max_pool3d.out
    adaptive_max_pool3d_backward:adaptive_max_pool3d_backward.grad_input
    fractional_max_pool2d:fractional_max_pool2d.output
    fractional_max_pool2d_backward:fractional_max_pool2d_backward.grad_input
    fractional_max_pool3d:fractional_max_pool3d.output frexp.Tensor:frexp.Tensor_out hash_tensor:hash_tensor.out
    heaviside:heaviside.out heaviside_:heaviside.out linalg_ldl_factor_ex:linalg_ldl_factor_ex.out
    linalg_ldl_solve:linalg_ldl_solve.out linalg_lstsq:linalg_lstsq.out logspace:logspace.out
    special_airy_ai:special_airy_ai.out special_laguerre_polynomial_l:special_laguerre_polynomial_l.out
    special_legendre_polynomial_p:special_legendre_polynomial_p.out special_log_ndtr:special_log_ndtr.out
    special_ndtri:special_ndtri.out
"""
_FALLBACK = "PYTORCH_ENABLE_MPS_FALLBACK"  # where it is set, these run on the CPU

_PAIRS = dict(pair.split(":") for pair in _BY_ANOTHER.split())
LACKS: dict[str, str] = {name: name for name in (*_OF_THEIR_OWN.split(), *_PAIRS.values())} | _PAIRS


def without(name: str, kernel: Kernel) -> Kernel:
    """The kernel of an operator; what refuses it, where MPS has none. `name` begins with "aten::"."""
    named = LACKS.get(name.removeprefix("aten::"))
    if named is None or os.environ.get(_FALLBACK, "0") not in ("0", ""):
        return kernel

    def lacking(*args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        raise refusal(NotImplementedError, _words(f"aten::{named}"))

    return lacking


def _words(name: str) -> str:
    """Those of torch."""
    return (
        f"The operator '{name}' is not currently implemented for the MPS device. If you want this op to be considered"
        " for addition please comment on https://github.com/pytorch/pytorch/issues/141287 and mention use-case, that"
        f" resulted in missing op as well as commit hash {torch.version.git_version}. As a temporary fix, you can set"
        f" the environment variable `{_FALLBACK}=1` to use the CPU as a fallback for this op. WARNING: this will be"
        " slower than running natively on MPS."
    )
