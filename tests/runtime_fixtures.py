"""The executable fixtures, and the tensors and grad modes that they are run with.

A fixture is executable if its header says how it is called:

    # run: to_array(x)          an expression over the names that runtime_matrix gives: x, model, scale, torch, np
    # converts: x               the tensors whose conversion is at stake, `;` between them (default: x)
    # lacks: detach cpu         which links the conversions lack; clean fixtures do not say so, and never raise
    # value: x.float().numpy()  what the repaired code gives, where the original never gives anything (an expression)
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

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ALWAYS = frozenset({"detach", "cpu"})  # the links of every complete chain
LINKS = ALWAYS | {"float", "cfloat", "dequantize", "to_dense", "resolve_conj", "resolve_neg"}
FIXTURES = Path(__file__).parent.parent / "fixtures"
_DIRECTIVE = re.compile(r"^# (run|converts|lacks|value|over|memory): (.+)$", re.MULTILINE)


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


class Fixture(NamedTuple):
    """An executable fixture and what its header says."""

    name: str
    text: str
    run: str
    converts: tuple[str, ...]
    lacks: frozenset[str]
    value: str | None
    kinds: tuple[Kind, ...]
    shares_memory: bool

    @property
    def is_clean(self) -> bool:
        return not self.lacks

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
    lacks = frozenset(said.get("lacks", "").split())
    is_clean = name.rpartition("/")[2].startswith("clean_")
    assert lacks <= LINKS and bool(lacks) is not is_clean, f"{name}: lacks {sorted(lacks)}"
    memory = said.get("memory", "shared")
    assert memory in ("shared", "own"), f"{name}: memory {memory}"
    converts = () if is_clean else tuple(each.strip() for each in said.get("converts", "x").split(";"))
    kinds = _kinds(said.get("over", "all"))
    return Fixture(name, text, said["run"], converts, lacks, said.get("value"), kinds, memory == "shared")


def _kinds(over: str) -> tuple[Kind, ...]:
    wanted = {name.strip() for name in over.split(",")}
    assert wanted <= {"all", "ordinary", *(kind.name for kind in KINDS)}, over
    return tuple(kind for kind in KINDS if wanted & {"all", kind.name} or (kind.ordinary and "ordinary" in wanted))
