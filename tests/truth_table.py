"""The table that the rules rest on: what each way to convert does with each sort of tensor, by exact exception."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

_Argument = TypeVar("_Argument")
_Value = TypeVar("_Value")
Array = NDArray[np.generic]
Way = Callable[[Tensor], Array]
REPAIRED = "t.detach().cpu().numpy()"
WAYS: dict[str, Way] = {
    "t.numpy()": lambda t: t.numpy(),
    "t.cpu().numpy()": lambda t: t.cpu().numpy(),
    "t.detach().numpy()": lambda t: t.detach().numpy(),
    REPAIRED: lambda t: t.detach().cpu().numpy(),
    "t.numpy(force=True)": lambda t: t.numpy(force=True),
    "np.asarray(t)": np.asarray,
}


class Raises(NamedTuple):
    """The exact type, and words of the message; `{device}` stands for the device with its index."""

    type: type[Exception]
    words: str

    def __str__(self) -> str:
        return f"{self.type.__name__}: {self.words}"


# An array that shares memory with the tensor, or one of its own.
Outcome = Raises | Literal["shares", "copies"]

GRAD = Raises(RuntimeError, "Can't call numpy() on Tensor that requires grad.")
DEVICE = Raises(TypeError, "can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy")
CONJ = Raises(RuntimeError, "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj()")
NEG = Raises(RuntimeError, "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg()")
NO_DATA = Raises(NotImplementedError, "Cannot copy out of meta tensor; no data!")
SUBCLASS = Raises(RuntimeError, ".numpy() is not supported for tensor subclasses.")
NESTED = Raises(RuntimeError, "NestedTensorImpl doesn't support sizes.")
NO_STORAGE = Raises(RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage")


class Row(NamedTuple):
    """A sort of tensor, the grad mode it is converted in, and the outcome of each way in the order of WAYS."""

    name: str
    make: Callable[[str], Tensor]
    outcomes: tuple[Outcome, ...]
    mode: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext


def _plain(device: str) -> Tensor:
    return torch.arange(6.0).reshape(2, 3).to(device)


def _parameter(device: str) -> Tensor:
    return torch.nn.Parameter(_plain(device))


def _complex(device: str) -> Tensor:
    return torch.complex(torch.arange(1.0, 4.0), torch.ones(3)).to(device)


def _quantized(device: str) -> Tensor:
    return torch.quantize_per_tensor(_plain(device), 1.0, 0, torch.quint8)


def _fake(device: str) -> Tensor:
    with FakeTensorMode():
        return torch.zeros(2, 3, device=device)


def _nested(layout: torch.layout) -> Tensor:
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)


def _everywhere(outcome: Outcome) -> tuple[Outcome, ...]:
    return (outcome,) * len(WAYS)


def _dtype(name: str) -> tuple[Outcome, ...]:
    return _everywhere(Raises(TypeError, f"Got unsupported ScalarType {name}"))


def _layout(name: str) -> tuple[Outcome, ...]:
    return _everywhere(Raises(TypeError, f"can't convert {name} layout tensor to numpy. Use Tensor.to_dense() first."))


CPU = (
    Row("plain", _plain, _everywhere("shares")),
    Row("requires grad, grad mode on", _parameter, (GRAD, GRAD, "shares", "shares", "shares", GRAD)),
    Row("non-leaf, grad mode on", lambda d: _parameter(d) * 2, (GRAD, GRAD, "shares", "shares", "shares", GRAD)),
    Row("requires grad, inside no_grad", _parameter, _everywhere("shares"), torch.no_grad),
    Row("requires grad, inside inference_mode", _parameter, _everywhere("shares"), torch.inference_mode),
    Row("conjugate bit", lambda d: _complex(d).conj(), (CONJ, CONJ, CONJ, CONJ, "copies", CONJ)),
    Row("negative bit", lambda d: _complex(d).conj().imag, (NEG, NEG, NEG, NEG, "copies", NEG)),
    Row("bfloat16", lambda d: _plain(d).bfloat16(), _dtype("BFloat16")),
    Row("float8_e4m3fn", lambda d: _plain(d).to(torch.float8_e4m3fn), _dtype("Float8_e4m3fn")),
    Row("float8_e5m2", lambda d: _plain(d).to(torch.float8_e5m2), _dtype("Float8_e5m2")),
    Row("complex32", lambda d: _complex(d).to(torch.complex32), _dtype("ComplexHalf")),
    Row("quantized", _quantized, _dtype("QUInt8")),
    Row("sparse", lambda d: _plain(d).to_sparse(), _layout("Sparse")),
    Row("CSR", lambda d: _plain(d).to_sparse_csr(), _layout("SparseCsr")),
    Row("mkldnn", lambda d: _plain(d).to_mkldnn(), _layout("Mkldnn")),
)

# On an accelerator `.cpu()` makes a copy, and a copy has neither a conjugate nor a negative bit.
_COPIED: tuple[Outcome, ...] = (DEVICE, "copies", DEVICE, "copies", "copies", DEVICE)
_WITH_GRAD: tuple[Outcome, ...] = (DEVICE, GRAD, DEVICE, "copies", "copies", DEVICE)
_BFLOAT16 = Raises(TypeError, "Got unsupported ScalarType BFloat16")
ACCELERATOR = (
    Row("plain", _plain, _COPIED),
    Row("requires grad, grad mode on", _parameter, _WITH_GRAD),
    Row("non-leaf, grad mode on", lambda d: _parameter(d) * 2, _WITH_GRAD),
    Row("requires grad, inside no_grad", _parameter, _COPIED, torch.no_grad),
    Row("requires grad, inside inference_mode", _parameter, _COPIED, torch.inference_mode),
    Row("conjugate bit", lambda d: _complex(d).conj(), _COPIED),
    Row("negative bit", lambda d: _complex(d).conj().imag, _COPIED),
    Row("bfloat16", lambda d: _plain(d).bfloat16(), (DEVICE, _BFLOAT16, DEVICE, _BFLOAT16, _BFLOAT16, DEVICE)),
)

# What tonumpy does not promise to repair: no data, a subclass, or a tensor that a function transform wraps.
UNPROMISED = (
    Row("meta", lambda _: torch.zeros(2, device="meta"), (DEVICE, NO_DATA, DEVICE, NO_DATA, NO_DATA, DEVICE)),
    Row("FakeTensor", _fake, _everywhere(SUBCLASS)),
    Row("nested", lambda _: _nested(torch.strided), _everywhere(NESTED)),
    Row("nested, jagged", lambda _: _nested(torch.jagged), _everywhere(SUBCLASS)),
)

Transform = Callable[[Way], object]
TRANSFORMS: tuple[tuple[str, Transform, tuple[Outcome, ...]], ...] = (
    ("inside torch.vmap", lambda way: torch.vmap(way)(torch.ones(2, 3)), _everywhere(NO_STORAGE)),
    (
        "inside torch.func.grad",
        lambda way: torch.func.grad(way)(torch.ones(())),
        (GRAD, GRAD, NO_STORAGE, NO_STORAGE, NO_STORAGE, GRAD),
    ),
    (
        "inside torch.func.jvp",
        lambda way: torch.func.jvp(way, (torch.ones(3),), (torch.ones(3),)),
        _everywhere(NO_STORAGE),
    ),
)


class Cell(NamedTuple):
    """One cell that was run, and what was wrong in it, if anything."""

    row: str
    way: str
    device: str
    expected: Outcome
    problem: str | None

    def __str__(self) -> str:
        return f"{self.row}, {self.way} on {self.device}: {self.problem or 'ok'}"


def run_table(device: str) -> Iterator[Cell]:
    """Every cell on a device; what has no device of its own is run with the CPU."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls CSR and nested tensors beta, quantized ones deprecated
        for row in (*CPU, *UNPROMISED) if device == "cpu" else ACCELERATOR:
            for (way, convert), expected in zip(WAYS.items(), row.outcomes, strict=True):
                yield Cell(row.name, way, device, expected, _problem(row, convert, device, expected))
        for name, transform, outcomes in TRANSFORMS if device == "cpu" else ():
            for (way, convert), expected in zip(WAYS.items(), outcomes, strict=True):
                yield Cell(name, way, device, expected, _error_problem(_outcome(transform, convert), expected, "cpu"))


def _problem(row: Row, way: Way, device: str, expected: Outcome) -> str | None:
    tensor = row.make(device)
    with row.mode():
        outcome = _outcome(way, tensor)
    if isinstance(outcome, Exception) or isinstance(expected, Raises):
        return _error_problem(outcome, expected, str(tensor.device))
    if outcome.tolist() != tensor.detach().tolist():
        return f"gave {outcome!r} for {tensor!r}"
    start = tensor.untyped_storage().data_ptr()
    shares = start <= outcome.ctypes.data < start + tensor.untyped_storage().nbytes()
    return None if shares == (expected == "shares") else f"the array {'shares' if shares else 'does not share'} memory"


def _outcome(function: Callable[[_Argument], _Value], argument: _Argument) -> _Value | Exception:
    try:
        return function(argument)
    except Exception as error:
        return error


def _error_problem(outcome: object, expected: Outcome, device: str) -> str | None:
    foretold = (
        isinstance(expected, Raises)
        and type(outcome) is expected.type
        and expected.words.replace("{device}", device) in str(outcome)
    )
    return None if foretold else f"should give {expected}; it gave {outcome!r}"
