"""The executable fixtures x tensors x grad modes on a device: what each cell does, against what torch's rules foretell.

A fixture is executable if its header says how it is called:

    # run: to_array(x)          an expression over the names of `_names`
    # converts: x               the tensors whose conversion is at stake, `;` between them (default: x)
    # lacks: detach cpu         which links the conversions lack
    # over: ordinary            the tensors it is run with: all (default), ordinary (float, rows of 3), names of KINDS
    # memory: own               the result never shares memory with x (default: shared, on the CPU)
"""

from __future__ import annotations

import contextlib
import re
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

Array = NDArray[np.generic]

FIXTURES = Path(__file__).parent.parent / "fixtures"
_DIRECTIVE = re.compile(r"^# (run|converts|lacks|over|memory): (.+)$", re.MULTILINE)


# The tensors


class Kind(NamedTuple):
    """One way in which a program comes by a tensor."""

    name: str
    make: Callable[[str], Tensor]
    ordinary: bool = True


def _values(device: str) -> Tensor:
    return torch.arange(1.0, 7.0).reshape(2, 3).to(device)


def _parameter(device: str) -> Tensor:
    return torch.nn.Parameter(_values(device))


def tiny_module(device: str) -> torch.nn.Module:
    module = torch.nn.Linear(3, 3)
    with torch.no_grad():
        module.weight.copy_(torch.arange(9.0).view(3, 3))  # small integers: exact on every device
        module.bias.fill_(1)
    return module.to(device)


def _under(mode: AbstractContextManager[object], device: str) -> Tensor:
    with mode:
        return _parameter(device) * 2


def _grad(device: str) -> Tensor:
    parameter = _parameter(device)
    (parameter * parameter).sum().backward()
    assert parameter.grad is not None
    return parameter.grad


def _csr(device: str) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
        return _values(device).to_sparse_csr()


def _complex(device: str) -> Tensor:
    return torch.complex(_values("cpu"), _values("cpu") * 10).to(device)


KINDS = (
    Kind("plain", _values),
    Kind("parameter", _parameter),
    Kind("non-leaf", lambda device: _parameter(device) * 2),
    Kind("made under no_grad", lambda device: _under(torch.no_grad(), device)),
    Kind("made under inference_mode", lambda device: _under(torch.inference_mode(), device)),
    Kind("module output", lambda device: tiny_module(device)(_values(device))),
    Kind("state dict entry", lambda device: tiny_module(device).state_dict()["weight"]),
    Kind("grad", _grad),
    Kind("strided view", lambda device: torch.arange(24.0).reshape(4, 6).to(device)[::2, 1::2]),
    Kind(
        "transposed view of a parameter", lambda device: torch.nn.Parameter(torch.arange(6.0).view(3, 2).to(device)).T
    ),
    Kind("expanded", lambda device: torch.arange(3.0).to(device).expand(2, 3)),
    Kind("float64", lambda device: _values(device).double()),
    Kind("int64", lambda device: _values(device).long(), ordinary=False),
    Kind("bool", lambda device: _values(device) > 3, ordinary=False),
    Kind("half", lambda device: _values(device).half(), ordinary=False),
    Kind("half parameter", lambda device: torch.nn.Parameter(_values(device).half()), ordinary=False),
    Kind("bfloat16", lambda device: _values(device).bfloat16(), ordinary=False),
    Kind("zero-size", lambda device: _values(device)[:0], ordinary=False),
    Kind("0-d", lambda device: _values(device)[0, 1], ordinary=False),
    Kind("0-d with grad", lambda device: _parameter(device).sum(), ordinary=False),
    Kind("complex", _complex, ordinary=False),
    Kind("conjugate bit", lambda device: _complex(device).conj(), ordinary=False),
    Kind("negative bit", lambda device: _complex(device).conj().imag, ordinary=False),
    Kind("sparse", lambda device: _values(device).to_sparse(), ordinary=False),
    Kind("sparse CSR", _csr, ordinary=False),
)

MODES: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "grad mode": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
}


def can_hold(device: str, kind: Kind) -> bool:
    """The toy device has no sparse tensors: torch has no CPU fallback for them."""
    return device in ("cpu", "cuda") or not kind.name.startswith("sparse")


# The fixtures


class Fixture(NamedTuple):
    """An executable fixture and what its header says."""

    name: str
    text: str
    run: str
    converts: tuple[str, ...]
    lacks: frozenset[str]
    kinds: tuple[Kind, ...]
    shares_memory: bool

    def cells(self, device: str) -> Iterator[tuple[Kind, str]]:
        """The kinds of tensor and grad modes it is run with on this device."""
        return ((kind, mode) for kind in self.kinds if can_hold(device, kind) for mode in MODES)


def find_fixtures() -> list[Fixture]:
    paths = sorted(path for path in FIXTURES.rglob("*.py") if not path.name.endswith(".fixed.py"))
    # Read as bytes first: fixtures of the rewriter come in many encodings, executable ones in UTF-8.
    executable = [path for path in paths if re.search(rb"^# run: ", path.read_bytes(), re.MULTILINE)]
    return [
        _fixture(path.relative_to(FIXTURES).with_suffix("").as_posix(), path.read_text("utf-8")) for path in executable
    ]


def _fixture(name: str, text: str) -> Fixture:
    said = dict(_DIRECTIVE.findall(text))
    lacks = frozenset(said["lacks"].split())
    assert lacks and lacks <= {"detach", "cpu"}, f"{name}: lacks {sorted(lacks)}"
    memory = said.get("memory", "shared")
    assert memory in ("shared", "own"), f"{name}: memory {memory}"
    converts = tuple(each.strip() for each in said.get("converts", "x").split(";"))
    return Fixture(name, text, said["run"], converts, lacks, _kinds(said.get("over", "all")), memory == "shared")


def _kinds(over: str) -> tuple[Kind, ...]:
    wanted = {name.strip() for name in over.split(",")}
    assert wanted <= {"all", "ordinary", *(kind.name for kind in KINDS)}, over
    return tuple(kind for kind in KINDS if wanted & {"all", kind.name} or (kind.ordinary and "ordinary" in wanted))


# What torch's rules foretell


class Refusal(NamedTuple):
    """An exception by its exact type and the beginning of its message."""

    type: type[Exception]
    words: str


def refusal(tensor: Tensor, links: frozenset[str] | None) -> Refusal | None:
    """How torch refuses `tensor.numpy()` after these links ("detach", "cpu"); None stands for `.numpy(force=True)`.

    The checks are torch's own, in its order. A link does nothing where it is not needed.
    """
    if tensor.layout is not torch.strided:
        layout = {torch.sparse_coo: "Sparse", torch.sparse_csr: "SparseCsr"}[tensor.layout]
        return Refusal(TypeError, f"can't convert {layout} layout tensor to numpy.")
    if links is not None:
        copied = tensor.device.type != "cpu"  # a copy to the CPU has neither of the two bits
        if copied and "cpu" not in links:
            return Refusal(TypeError, f"can't convert {tensor.device} device type tensor to numpy.")
        if tensor.requires_grad and torch.is_grad_enabled() and "detach" not in links:
            return Refusal(RuntimeError, "Can't call numpy() on Tensor that requires grad.")
        if tensor.is_conj() and not copied:
            return Refusal(RuntimeError, "Can't call numpy() on Tensor that has conjugate bit set.")
        if tensor.is_neg() and not copied:
            return Refusal(RuntimeError, "Can't call numpy() on Tensor that has negative bit set.")
    if tensor.dtype is torch.bfloat16:
        return Refusal(TypeError, "Got unsupported ScalarType BFloat16")
    return None


# The run


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


def run_matrix(fixture: Fixture, device: str, repaired: str, *, forced: bool = False) -> list[Cell]:
    """Run the fixture as it is and as repaired; `forced` says that the repair is `.numpy(force=True)`."""
    original_code = compile(fixture.text, fixture.name, "exec", dont_inherit=True)
    repaired_code = compile(repaired, f"{fixture.name} (repaired)", "exec", dont_inherit=True)
    complete = frozenset({"detach", "cpu"})
    cells = []
    for kind, mode in fixture.cells(device):
        expected = _reference(fixture, kind, original_code)
        refused, problem = _run(fixture, device, kind, mode, original_code, complete - fixture.lacks, expected)
        still_refused, new_problem = _run(
            fixture, device, kind, mode, repaired_code, None if forced else complete, expected
        )
        healed = refused and not still_refused
        what = f"the original {problem}" if problem else f"the repaired code {new_problem}" if new_problem else None
        cells.append(Cell(fixture.name, device, kind.name, mode, healed, what))
    return cells


def _run(
    fixture: Fixture,
    device: str,
    kind: Kind,
    mode: str,
    code: CodeType,
    links: frozenset[str] | None,
    expected: object,
) -> tuple[bool, str | None]:
    """Whether a refusal is foretold, and how the outcome differs from what is foretold."""
    x = kind.make(device)
    names = _names(x, device)
    with MODES[mode]():
        converted = [eval(each, names) for each in fixture.converts]
        refused = next(filter(None, (refusal(tensor, links) for tensor in converted)), None)
        outcome = _outcome(code, fixture.run, names)
    if refused:
        return True, _error_problem(outcome, refused)
    problem = _value_problem(outcome, expected) or _memory_problem(outcome, x, shares=fixture.shares_memory)
    return False, problem


def _names(x: Tensor, device: str) -> dict[str, object]:
    """The names that a header can use."""
    scale = torch.nn.Parameter(torch.tensor(2.0, dtype=x.dtype if x.is_floating_point() else None))
    return {"torch": torch, "np": np, "x": x, "scale": scale, "model": tiny_module(device)}


def _reference(fixture: Fixture, kind: Kind, original: CodeType) -> object:
    """What the original returns where it cannot fail: on the CPU, without grad, with the bits resolved."""
    names = _names(kind.make("cpu").resolve_conj().resolve_neg(), "cpu")
    with torch.no_grad():
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
