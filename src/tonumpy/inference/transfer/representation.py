"""What is proved of the layout, the dtype and the lazy bits of what a call of torch returns.

A tensor on which `.conj()` was called has a bit set in place of the work; so has the imaginary part of such a one,
whose sign is still to be changed. tests/test_representation.py holds every name here against real torch.
"""

from __future__ import annotations

from tonumpy.inference.lattice.dtypes import is_complex, is_dtype_name
from tonumpy.inference.lattice.values import LibraryObject, Plain, Symbol, Tensor, Unknown, Value, dtype_of
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.lattice.values import Arguments

# Methods that give a layout that NumPy does not have.
LAYOUT_OF_METHOD = {
    "to_sparse": "sparse",
    "to_sparse_coo": "sparse",
    "to_sparse_csr": "sparse",
    "to_sparse_csc": "sparse",
    "to_sparse_bsr": "sparse",
    "to_sparse_bsc": "sparse",
    "to_mkldnn": "mkldnn",
}
# And functions. Those with a capital are the legacy constructors.
LAYOUT_OF_FUNCTION = {
    "torch.sparse_coo_tensor": "sparse",
    "torch.sparse_csr_tensor": "sparse",
    "torch.sparse_csc_tensor": "sparse",
    "torch.sparse_bsr_tensor": "sparse",
    "torch.sparse_bsc_tensor": "sparse",
    "torch.sparse.spdiags": "sparse",
    "torch.sparse.FloatTensor": "sparse",
    "torch.sparse.DoubleTensor": "sparse",
    "torch.sparse.LongTensor": "sparse",
}
# The values of an argument `layout=`.
LAYOUTS = {
    "torch.sparse_coo": "sparse",
    "torch.sparse_csr": "sparse",
    "torch.sparse_csc": "sparse",
    "torch.sparse_bsr": "sparse",
    "torch.sparse_bsc": "sparse",
}
# Methods after which the layout is what it was, or another that NumPy does not have either.
KEEP_LAYOUT = frozenset(
    "cpu cuda xpu npu to data detach detach_ requires_grad_ coalesce clone float double half bfloat16".split()
)

# Functions whose result is complex, and not conjugated, whatever they are given (`ifft` of real numbers is conjugated).
COMPLEX_RESULTS = frozenset(
    f"torch.{name}"
    for name in (
        "complex polar view_as_complex fft.fft fft.rfft fft.fft2 fft.ifft2 fft.rfft2 fft.fftn fft.ifftn fft.rfftn"
    ).split()
)

# Functions, and methods, that give complex numbers of complex numbers.
KEEP_COMPLEX = frozenset("exp sqrt square log sin cos tan sinh cosh tanh reciprocal neg".split())

# Functions that quantize, with the position of their argument `dtype`.
QUANTIZERS = {
    "torch.quantize_per_tensor": 3,
    "torch.quantize_per_channel": 4,
    "torch.quantize_per_tensor_dynamic": 1,
}

# Functions that make what has the default dtype, where they are not asked for another.
MADE_IN_DEFAULT_DTYPE = frozenset(
    f"torch.{name}" for name in "empty eye linspace logspace ones rand randn zeros".split()
)

_CONJUGATING = frozenset(("conj", "adjoint", "H", "mH"))


def of_function(name: str, arguments: Arguments, result: Value | None) -> Value | None:
    """The result of `torch.name(...)`; None stays None but for legacy constructors."""
    if name in LAYOUT_OF_FUNCTION and result is None:
        return Tensor(layout=LAYOUT_OF_FUNCTION[name])
    if not isinstance(result, Tensor):
        return result
    if name in LAYOUT_OF_FUNCTION:
        return result._replace(layout=LAYOUT_OF_FUNCTION[name])
    asked = arguments.named_value("layout")
    if isinstance(asked, Symbol) and asked.name in LAYOUTS:
        return result._replace(layout=LAYOUTS[asked.name])
    if name in COMPLEX_RESULTS and result.dtype is None:
        return result._replace(dtype="complex")
    if name in QUANTIZERS:
        dtype = arguments.get(QUANTIZERS[name], "dtype")
        known = dtype.name.rpartition(".")[2] if isinstance(dtype, Symbol) else ""
        return result._replace(dtype=known if is_dtype_name(known) else "quantized")
    first = arguments.get(0, "input")
    if name.removeprefix("torch.") in KEEP_COMPLEX and isinstance(first, Tensor) and is_complex(first.dtype):
        return result._replace(dtype="complex")
    if name == "torch.sparse.sum" and isinstance(first, Tensor) and (arguments.get(1, "dim") is not None):
        return result._replace(layout=first.layout)  # of some dimensions; of all it is a dense number
    if name in ("torch.conj", "torch.adjoint") and isinstance(first, Tensor):
        return _conjugated(first, result)
    return result


def in_default_dtype(name: str, arguments: Arguments, dtype: str | None, result: Value) -> Value:
    """What `torch.name(...)` made, a tensor or a module, where the default dtype is known to be set to this one."""
    if dtype is None or arguments.has_star or arguments.named_value("dtype") is not None:
        return result
    if isinstance(result, LibraryObject) and name.startswith("torch.nn.") and result.dtype is None:
        return result._replace(dtype=dtype)
    if isinstance(result, Tensor) and name in MADE_IN_DEFAULT_DTYPE and result.dtype is None:
        return result._replace(dtype=dtype)
    return result


def of_method(receiver: Tensor | Unknown, name: str, arguments: Arguments, result: Value) -> Value:
    """The result of `receiver.name(...)`, or of reading `receiver.name`."""
    if not isinstance(result, Tensor):
        return result
    if name in LAYOUT_OF_METHOD:
        return result._replace(layout=LAYOUT_OF_METHOD[name])
    if name == "int_repr":
        return result._replace(dtype="integral", requires_grad=False)  # the integers that a quantized tensor is kept as
    if name == "view" and len(arguments.positional) < 2:
        result = _seen_as(arguments.get(0, "dtype"), result)
    if not isinstance(receiver, Tensor):
        return result
    if name in KEEP_LAYOUT:
        return result._replace(layout=receiver.layout)
    if name in _CONJUGATING:
        return _conjugated(receiver, result)
    if name in KEEP_COMPLEX and is_complex(receiver.dtype):
        return result._replace(dtype="complex")
    if name in ("real", "imag"):
        return result._replace(bit="negative" if name == "imag" and receiver.bit == "conjugate" else None)
    return result


def _seen_as(asked: Value | None, result: Tensor) -> Tensor:
    """`x.view(torch.int16)`: the same bytes as another dtype, which autograd does not follow."""
    dtype = dtype_of(asked)
    if dtype is not None or (isinstance(asked, Plain) and asked.what == "dtype"):
        return result._replace(dtype=dtype, requires_grad=False)
    return result._replace(dtype=None) if isinstance(asked, (Symbol, Unknown)) else result


def _conjugated(tensor: Tensor, result: Tensor) -> Tensor:
    """Only a complex tensor has the bit; a second conjugation takes it away."""
    if not is_complex(tensor.dtype):
        return result
    return result._replace(dtype=tensor.dtype, bit=None if tensor.bit else "conjugate")
