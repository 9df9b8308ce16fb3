"""The layout, dtype and lazy bits of a torch call's result.
`.conj()` only sets the conjugate bit, and the imaginary part of such a tensor has the negative bit.
tests/test_representation.py checks every name here against real torch.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import is_complex, is_dtype_name
from tonumpy.engine.values.value_facts import dtype_of

# Methods whose result has a layout that NumPy lacks.
_SPARSE = "coo csr csc bsr bsc".split()
LAYOUT_OF_METHOD = {
    **dict.fromkeys(("to_sparse", *(f"to_sparse_{kind}" for kind in _SPARSE)), "sparse"),
    "to_mkldnn": "mkldnn",
}
# Functions likewise. Capitalized ones are legacy constructors.
SPARSE_FUNCTIONS = frozenset(
    (
        *(f"torch.sparse_{kind}_tensor" for kind in _SPARSE),
        *(f"torch.sparse.{name}" for name in ("spdiags", "FloatTensor", "DoubleTensor", "LongTensor")),
    )
)
# The values of an argument `layout=`.
SPARSE_LAYOUTS = frozenset(f"torch.sparse_{kind}" for kind in _SPARSE)
# Functions and methods whose result has such a layout if all input tensors have it; with a dense input it is dense.
KEEP_LAYOUT_OF_ALL = frozenset("add sub mm matmul cat concat hstack stack vstack".split())
OF_SEVERAL = frozenset("cat concat concatenate hstack vstack stack dstack column_stack".split())

# Functions whose result is always complex and not conjugated.
COMPLEX_RESULTS = frozenset(
    f"torch.{name}"
    for name in (
        "complex polar view_as_complex fft.fft fft.rfft fft.fft2 fft.ifft2 fft.rfft2 fft.fftn fft.ifftn fft.rfftn"
        " linalg.eigvals"
    ).split()
)
# Functions whose result is complex, and conjugated if the input is real.
CONJUGATED_OF_REAL = frozenset(("torch.fft.ifft", "torch.fft.ihfft"))

# Functions that quantize, with the position of their argument `dtype`.
QUANTIZERS = {
    "torch.quantize_per_tensor": 3,
    "torch.quantize_per_channel": 4,
    "torch.quantize_per_tensor_dynamic": 1,
}

# Operators whose result has the layout of the first operand.
_OF_ONE = (ast.Div, ast.FloorDiv, ast.Pow, ast.USub, ast.UAdd)
_CONJUGATING = frozenset(("conj", "adjoint", "H", "mH"))


def of_function(name: str, arguments: v.Arguments, result: v.Value | None) -> v.Value | None:
    """The result of `torch.name(...)` with its layout, dtype and bit; None stays None except for legacy
    constructors."""
    if name in SPARSE_FUNCTIONS and result is None:
        return v.Tensor(layout="sparse")
    if not isinstance(result, v.Tensor):
        return result
    if name in SPARSE_FUNCTIONS or _asks_for_sparse(arguments):
        return result._replace(layout="sparse")
    first = arguments.get(0, "input")
    short = name.rpartition(".")[2]
    if name in QUANTIZERS:
        return result._replace(dtype=_dtype_quantized(arguments.get(QUANTIZERS[name], "dtype")))
    if name in CONJUGATED_OF_REAL and isinstance(first, v.Tensor) and first.dtype is not None:
        return result._replace(dtype="complex", bit=None if is_complex(first.dtype) else "conjugate")
    if result.dtype is None and (name in COMPLEX_RESULTS or _is_spectrum(short, arguments)):
        return result._replace(dtype="complex")
    layout = _kept_layout(short, first, v.Arguments(arguments.positional[1:], arguments.named))
    if layout is not None:
        return result._replace(layout=layout)
    if name in ("torch.conj", "torch.adjoint") and isinstance(first, v.Tensor):
        return _conjugated(first, result)
    return result


def _asks_for_sparse(arguments: v.Arguments) -> bool:
    asked = arguments.named_value("layout")
    return isinstance(asked, v.Symbol) and asked.name in SPARSE_LAYOUTS


def _dtype_quantized(asked: v.Value | None) -> str:
    known = asked.name.rpartition(".")[2] if isinstance(asked, v.Symbol) else ""
    return known if is_dtype_name(known) else "quantized"


def _is_spectrum(name: str, arguments: v.Arguments) -> bool:
    return name == "stft" and arguments.named_value("return_complex") == v.Constant(True)


def _kept_layout(name: str, first: v.Value | None, others: v.Arguments) -> str | None:
    """The layout of a result that keeps its first operand's layout; else None."""
    if name in OF_SEVERAL and isinstance(first, v.Sequence):
        first = first.element
    layout = first.layout if isinstance(first, v.Tensor) else None
    if name == "sum":  # the sum over all dimensions is a dense number
        return None if others.get(0, "dim") is None else layout
    if name in torch_api.keeping_layout():
        return layout
    second = others.get(0, "other") or others.get(0, "mat2")
    is_alone = name in OF_SEVERAL or (isinstance(second, v.Tensor) and second.layout is not None)
    return layout if name in KEEP_LAYOUT_OF_ALL and is_alone else None


def of_operator(operator: ast.operator | ast.unaryop, operands: Sequence[v.Value], result: v.Tensor) -> v.Tensor:
    """The result of an operator with its layout: an elementwise product is sparse if one operand is, a sum or a matrix
    product if all are."""
    layouts = [each.layout if isinstance(each, v.Tensor) else None for each in operands]
    if isinstance(operator, (ast.Add, ast.Sub, ast.MatMult)):
        return result._replace(layout=layouts[0] if None not in layouts else None)
    if isinstance(operator, ast.Mult):
        return result._replace(layout=next(filter(None, layouts), None))
    return result._replace(layout=layouts[0]) if isinstance(operator, _OF_ONE) else result


def of_method(receiver: v.Tensor | v.Unknown, name: str, arguments: v.Arguments, result: v.Value) -> v.Value:
    """The result of `receiver.name(...)` or `receiver.name`, with its layout, dtype and bit."""
    if not isinstance(result, v.Tensor):
        return result
    if name in LAYOUT_OF_METHOD:
        return result._replace(layout=LAYOUT_OF_METHOD[name])
    if name == "int_repr":
        return result._replace(dtype="integral", requires_grad=False)  # the integers that a quantized tensor stores
    if _is_spectrum(name, arguments):
        return result._replace(dtype="complex")
    if name == "view" and len(arguments.positional) < 2:
        result = _seen_as(arguments.get(0, "dtype"), result)
    if not isinstance(receiver, v.Tensor):
        return result
    mask = arguments.get(0, "mask")
    if name == "sparse_mask" and isinstance(mask, v.Tensor):
        return result._replace(layout=mask.layout)
    layout = _kept_layout(name, receiver, arguments)
    if layout is not None:
        return result._replace(layout=layout)
    if name in _CONJUGATING:
        return _conjugated(receiver, result)
    if name in ("real", "imag"):
        return result._replace(bit="negative" if name == "imag" and receiver.bit == "conjugate" else None)
    return result


def _seen_as(asked: v.Value | None, result: v.Tensor) -> v.Tensor:
    """The result of `x.view(torch.int16)`: the same bytes as another dtype, without grad."""
    dtype = dtype_of(asked)
    if dtype is not None or (isinstance(asked, v.NonTensor) and asked.what == "dtype"):
        return result._replace(dtype=dtype, requires_grad=False)
    return result._replace(dtype=None) if isinstance(asked, (v.Symbol, v.Unknown)) else result


def _conjugated(tensor: v.Tensor, result: v.Tensor) -> v.Tensor:
    """The result of conjugation: it sets the bit of a complex tensor, or clears it if set."""
    if not is_complex(tensor.dtype):
        return result
    return result._replace(dtype=tensor.dtype, bit=None if tensor.bit else "conjugate")
