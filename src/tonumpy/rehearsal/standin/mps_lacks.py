"""Operators that have no kernel for MPS in torch 2.13: native_functions.yaml names one for the CPU and none for MPS,
and `torch.testing._internal.common_mps` lists the function as not implemented there.

Operators that no user's code reaches, or that MPS reaches by another way (convolutions, the SVD), are left out.
"""

from __future__ import annotations

import torch

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
