"""Runs an executable fixture and its repair with every sort of tensor and grad mode on a device.

Each outcome is held against what torch's rules foretell: an exact exception, or a value, its dtype, shape and memory.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from runtime_fixtures import ALWAYS, MODES, Fixture, Kind, tiny_module
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

Array = NDArray[np.generic]


class Refusal(NamedTuple):
    """An exception by its exact type and the beginning of its message."""

    type: type[Exception]
    words: str


def refusal(tensor: Tensor, links: frozenset[str], *, forced: bool) -> Refusal | None:
    """How torch refuses `tensor.numpy()` after these links; `forced` stands for `.numpy(force=True)`.

    The checks are torch's own, in its order. A link does nothing where it is not needed.
    """
    if tensor.layout is not torch.strided and "to_dense" not in links:
        return Refusal(TypeError, f"can't convert {_LAYOUTS[tensor.layout]} layout tensor to numpy.")
    if not forced:
        copied = tensor.device.type != "cpu"  # a copy to the CPU has neither of the two bits
        if copied and "cpu" not in links:
            return Refusal(TypeError, f"can't convert {tensor.device} device type tensor to numpy.")
        if tensor.requires_grad and torch.is_grad_enabled() and "detach" not in links:
            return Refusal(RuntimeError, "Can't call numpy() on Tensor that requires grad.")
        if tensor.is_conj() and not copied and "resolve_conj" not in links:
            return Refusal(RuntimeError, "Can't call numpy() on Tensor that has conjugate bit set.")
        if tensor.is_neg() and not copied and "resolve_neg" not in links:
            return Refusal(RuntimeError, "Can't call numpy() on Tensor that has negative bit set.")
    if tensor.dtype in _SCALAR_TYPES and links.isdisjoint(("float", "cfloat", "dequantize")):
        return Refusal(TypeError, f"Got unsupported ScalarType {_SCALAR_TYPES[tensor.dtype]}")
    return None


_LAYOUTS = {torch.sparse_coo: "Sparse", torch.sparse_csr: "SparseCsr", torch._mkldnn: "Mkldnn"}
_SCALAR_TYPES = {
    torch.bfloat16: "BFloat16",
    torch.float8_e4m3fn: "Float8_e4m3fn",
    torch.complex32: "ComplexHalf",
    torch.quint8: "QUInt8",
}


class Cell(NamedTuple):
    """One cell that was run: whether a failing original was healed, and what was not as foretold, if anything."""

    fixture: str
    device: str
    kind: str
    mode: str
    healed: bool
    problem: str | None

    def __str__(self) -> str:
        return f"{self.fixture} on {self.device}, {self.kind}, {self.mode}: {self.problem or 'ok'}"


def run_matrix(fixture: Fixture, device: str, repaired: str, *, forced: bool = False) -> Iterator[Cell]:
    """Run the fixture as it is and as repaired; `forced` says that the repair is `.numpy(force=True)`."""
    original_code = compile(fixture.text, fixture.name, "exec", dont_inherit=True)
    repaired_code = compile(repaired, f"{fixture.name} (repaired)", "exec", dont_inherit=True)
    for kind, mode in fixture.cells(device):
        expected = _reference(fixture, kind, original_code)
        refused, problem = _run(fixture, device, kind, mode, original_code, ALWAYS - fixture.lacks, expected)
        still_refused, new_problem = _run(
            fixture, device, kind, mode, repaired_code, ALWAYS | fixture.lacks, expected, forced=forced
        )
        healed = refused and not still_refused
        what = f"the original {problem}" if problem else f"the repaired code {new_problem}" if new_problem else None
        yield Cell(fixture.name, device, kind.name, mode, healed, what)


def _run(
    fixture: Fixture,
    device: str,
    kind: Kind,
    mode: str,
    code: CodeType,
    links: frozenset[str],
    expected: object,
    *,
    forced: bool = False,
) -> tuple[bool, str | None]:
    """Whether a refusal is foretold, and how the outcome differs from what is foretold."""
    x = kind.make(device)
    names = _names(x, device)
    with MODES[mode](), _without_notices():
        converted = [eval(each, names) for each in fixture.converts]
        refused = next(filter(None, (refusal(tensor, links, forced=forced) for tensor in converted)), None)
        outcome = _outcome(code, fixture.run, names)
    if refused:
        return True, _error_problem(outcome, refused)
    problem = _value_problem(outcome, expected) or _memory_problem(outcome, x, shares=fixture.shares_memory)
    return False, problem


@contextlib.contextmanager
def _without_notices() -> Iterator[None]:
    """Torch says of some dtypes and layouts, once a process, that they are experimental or deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _names(x: Tensor, device: str) -> dict[str, object]:
    """The names that a fixture's header can use."""
    scale = torch.nn.Parameter(torch.tensor(2.0, dtype=x.dtype if x.is_floating_point() else None))
    return {"torch": torch, "np": np, "x": x, "scale": scale, "model": tiny_module(device)}


def _reference(fixture: Fixture, kind: Kind, original: CodeType) -> object:
    """What the original returns where it cannot fail: on the CPU, without grad, with the bits resolved.

    What the fixture's header says where that fails too.
    """
    names = _names(kind.make("cpu").resolve_conj().resolve_neg(), "cpu")
    with torch.no_grad(), _without_notices():
        if fixture.value is not None:
            return eval(fixture.value, names)
        return _outcome(original, fixture.run, names)


def _outcome(code: CodeType, run: str, names: dict[str, object]) -> object:
    """The value, or the exception, that the fixture gives."""
    namespace: dict[str, object] = {"__name__": "fixture"}
    exec(code, namespace)
    try:
        return eval(run, {**names, **namespace})
    except Exception as error:
        return error


def _error_problem(outcome: object, expected: Refusal) -> str | None:
    if type(outcome) is expected.type and str(outcome).startswith(expected.words):
        return None
    return f"should raise {expected.type.__name__}: {expected.words}; it gave {outcome!r}"


def _value_problem(outcome: object, expected: object) -> str | None:
    return None if same(outcome, expected) else f"should give {expected!r}; it gave {outcome!r}"


def same(one: object, other: object) -> bool:
    """Equal in type and value, arrays and tensors also in dtype and shape."""
    if type(one) is not type(other) or isinstance(one, BaseException):
        return False
    if isinstance(one, (np.ndarray, np.generic)) and isinstance(other, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and one.shape == other.shape and bool(np.array_equal(one, other))
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.device == other.device and one.dtype is other.dtype and torch.equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "toarray") and hasattr(other, "toarray"):  # SciPy's sparse matrices
        return same(one.toarray(), other.toarray())
    if hasattr(one, "equals"):  # tables, which compare item by item otherwise
        return bool(one.equals(other))
    return one == other or callable(one)  # functions are compared by what they do, not here


def _memory_problem(outcome: object, x: Tensor, *, shares: bool) -> str | None:
    """An array must share memory with x on the CPU if the fixture says so, and nowhere else."""
    shares = shares and x.device.type == "cpu" and not x.is_conj() and not x.is_neg()
    if x.numel() and any(_overlaps(array, x) is not shares for array in _arrays(outcome)):
        return f"should {'' if shares else 'not '}share memory with the tensor"
    return None


def _arrays(value: object) -> Iterator[Array]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _arrays(each)


def _overlaps(array: Array, tensor: Tensor) -> bool:
    storage = tensor.untyped_storage()
    return storage.data_ptr() <= array.ctypes.data < storage.data_ptr() + storage.nbytes()
