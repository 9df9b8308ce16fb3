"""What inference says of dtypes, layouts and lazy bits, held against real torch."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import operator
import re
from collections.abc import Callable

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from tonumpy.engine.interpreter import representation
from tonumpy.engine.interpreter.torch_calls import torch_function
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.libraries.rows import integers_of_layers
from tonumpy.engine.values.dtypes import LINKS_OF_DTYPE, is_dtype_name
from tonumpy.engine.values.joins import sequence_of
from tonumpy.engine.values.values import Arguments, Constant
from tonumpy.engine.values.values import Tensor as Facts

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of what is experimental or deprecated, once a process

DENSE = torch.tensor([[1.0, 2.0], [4.0, 8.0]])  # every dtype holds powers of two
Z = torch.complex(DENSE, DENSE)
LACKING = re.compile(r"Got unsupported ScalarType")


def is_lacking(tensor: Tensor) -> bool:
    try:
        tensor.numpy()
    except TypeError as error:
        return LACKING.match(str(error)) is not None
    return False


def dtypes() -> dict[str, torch.dtype]:
    found = {name: getattr(torch, name) for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
    # Shells without operators, which no program holds values in.
    return {name: dtype for name, dtype in found.items() if not re.fullmatch(r"bits?.*|u?int[1-7]", name)}


def test_the_dtypes_that_numpy_lacks() -> None:
    lacking = {name for name, dtype in dtypes().items() if is_lacking(torch.empty(2, dtype=dtype))}
    assert lacking == LINKS_OF_DTYPE.keys() - {"quantized"}
    assert {name for name in lacking if not is_dtype_name(name)} == set()


@pytest.mark.parametrize(("name", "link"), LINKS_OF_DTYPE.items())
def test_the_link_makes_numpy_s_of_it(name: str, link: str | None) -> None:
    if name == "quantized" or "x" in name:  # packed dtypes: no values can be made here
        return
    if link == "dequantize":
        tensor = torch.quantize_per_tensor(DENSE, 1.0, 0, dtypes()[name])
    else:
        tensor = DENSE.to(dtypes()[name])
    assert is_lacking(tensor)
    assert link is not None
    assert torch.equal(getattr(tensor, link)().real, DENSE)


def layouts() -> dict[str, Tensor]:
    arguments = {"to_sparse_bsr": ((1, 1),), "to_sparse_bsc": ((1, 1),)}
    return {name: getattr(DENSE, name)(*arguments.get(name, ())) for name in representation.LAYOUT_OF_METHOD}


def test_the_layouts_of_methods() -> None:
    for name, tensor in layouts().items():
        with pytest.raises(TypeError, match=r"layout tensor to numpy"):
            tensor.numpy()
        assert torch.equal(tensor.to_dense(), DENSE), name


_OPERATIONS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
}


@pytest.mark.parametrize("kind", _OPERATIONS, ids=lambda kind: kind.__name__)
def test_operators_on_a_layout(kind: type[ast.operator]) -> None:
    for made_by, tensor in layouts().items():
        facts = Facts(layout=representation.LAYOUT_OF_METHOD[made_by])
        dense: tuple[object, Facts | Constant] = (DENSE, Facts())
        for one, other in itertools.product(((tensor, facts), dense, (2.0, Constant(2.0))), repeat=2):
            try:
                result = _OPERATIONS[kind](one[0], other[0])
            except (RuntimeError, NotImplementedError, TypeError):
                continue  # of some layouts only
            said = representation.of_operator(kind(), (one[1], other[1]), Facts())
            if isinstance(result, Tensor):
                assert (said.layout is not None) == (result.layout is not torch.strided), (made_by, one, other)


@pytest.mark.parametrize("name", sorted(representation.KEEP_LAYOUT_OF_ALL))
def test_functions_of_two_with_a_layout(name: str) -> None:
    for made_by, tensor in layouts().items():
        for other in (tensor, DENSE):
            kept = Facts(layout=representation.LAYOUT_OF_METHOD[made_by])
            facts = [kept, kept if other is tensor else Facts()]
            is_of_several = name in representation.OF_SEVERAL
            given = Arguments((sequence_of(facts),) if is_of_several else tuple(facts))
            try:
                result = getattr(torch, name)([tensor, other]) if is_of_several else getattr(torch, name)(tensor, other)
            except (RuntimeError, NotImplementedError):
                continue  # of some layouts only
            said = representation.of_function(f"torch.{name}", given, Facts())
            assert isinstance(said, Facts)
            assert (said.layout is not None) == (result.layout is not torch.strided), (made_by, other)


@pytest.mark.parametrize("name", sorted(representation.OF_SEVERAL | {"where"}))
def test_functions_that_keep_one_dtype(name: str) -> None:
    for first, second in itertools.product((DENSE, DENSE.bfloat16(), DENSE.half(), DENSE.long()), repeat=2):
        operands: list[Tensor] = [first, second]
        facts = [Facts(dtype=str(each.dtype).removeprefix("torch.")) for each in operands]
        if name == "where":
            result, given = torch.where(DENSE > 0, first, second), Arguments((Facts(), *facts))
        else:
            result, given = getattr(torch, name)(operands), Arguments((sequence_of(facts),))
        said = torch_function(f"torch.{name}", given, mode=True)
        assert isinstance(said, Facts)
        assert said.dtype in (None, str(result.dtype).removeprefix("torch.")), (first.dtype, second.dtype)


@pytest.mark.parametrize("name", sorted(representation.COMPLEX_RESULTS))
def test_functions_with_complex_results(name: str) -> None:
    function = operator.attrgetter(name.removeprefix("torch."))(torch)
    operands = 2 if name in ("torch.complex", "torch.polar") else 1
    taken = 0
    for values in (DENSE, DENSE.double(), torch.ones(2, 2, dtype=torch.int64), Z, Z.conj()):
        try:
            result = function(*[values] * operands)
        except (RuntimeError, ValueError):
            continue  # of real, or of complex, numbers only
        taken += 1
        assert result.is_complex()
        assert not result.is_conj()
    assert taken


@pytest.mark.parametrize("name", sorted(representation.CONJUGATED_OF_REAL))
def test_functions_that_conjugate_what_is_real(name: str) -> None:
    function = operator.attrgetter(name.removeprefix("torch."))(torch)
    for values in (DENSE, DENSE.double(), torch.ones(2, 2, dtype=torch.int64)):
        assert function(values).is_conj()
    for values in (Z, Z.conj()):
        with contextlib.suppress(RuntimeError):  # of real numbers only
            assert not function(values).is_conj()
            assert function(values).is_complex()


def test_the_integers_of_layers_have_one_name_and_are_not_cast() -> None:
    found = set()
    for layer in filter(inspect.isclass, vars(torch.nn).values()):
        for arguments in ((), (2,), (4, 4), (4, 4, 3), (3, 4, 1)):
            with contextlib.suppress(Exception):
                state = layer(*arguments).bfloat16().state_dict()
                found |= {name.rpartition(".")[2] for name, each in state.items() if each.dtype != torch.bfloat16}
    assert found == integers_of_layers().keys()


def test_a_spectrum_is_not_conjugated() -> None:
    for values in (DENSE, DENSE.double(), Z, Z.conj()):
        for stft in (torch.stft, torch.Tensor.stft):
            spectrum = stft(values, 2, hop_length=1, window=torch.ones(2, dtype=values.real.dtype), return_complex=True)
            assert spectrum.is_complex() and not spectrum.is_conj()


CHAINS: dict[str, Callable[[Tensor], Tensor]] = {
    "conj": lambda z: z.conj(),
    "torch.conj": torch.conj,
    "adjoint": lambda z: z.adjoint(),
    "H": lambda z: z.H,
    "mH": lambda z: z.mH,
}


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_what_sets_the_conjugate_bit(name: str) -> None:
    make = CHAINS[name]
    assert make(Z).is_conj()
    assert not make(make(Z)).is_conj()
    assert not make(DENSE).is_conj()
    assert make(Z).imag.is_neg()
    assert not make(Z).real.is_neg()
    assert not make(Z).real.is_conj()
    assert make(Z).detach().cpu()[0].is_conj()
    assert not make(Z).to(torch.complex128).is_conj()
    assert not make(Z).clone().is_conj()


def test_the_same_of_the_facts() -> None:
    spectrum = Facts(True, False, "complex64")
    none = Arguments(())
    conjugate = representation.of_method(spectrum, "conj", none, spectrum)
    assert isinstance(conjugate, Facts)
    assert conjugate.bit == "conjugate"
    twice = representation.of_method(conjugate, "mH", none, conjugate)
    assert isinstance(twice, Facts)
    assert twice.bit is None


@pytest.mark.parametrize(("name", "position"), representation.QUANTIZERS.items())
def test_the_quantizers(name: str, position: int) -> None:
    function = getattr(torch, name.removeprefix("torch."))
    arguments = {
        "torch.quantize_per_tensor": (DENSE, 1.0, 0),
        "torch.quantize_per_channel": (DENSE, torch.ones(2), torch.zeros(2), 0),
        "torch.quantize_per_tensor_dynamic": (DENSE,),
    }[name]
    assert len(arguments) == position
    rest = (False,) if name.endswith("dynamic") else ()
    assert function(*arguments, torch.qint8, *rest).is_quantized


MADE_WITH = {
    "Embedding": (4, 2),
    "Flatten": (),
    "GroupNorm": (1, 2),
    **dict.fromkeys(("LayerNorm", "RMSNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d"), (2,)),
    **dict.fromkeys(("Softmax", "LogSoftmax"), (-1,)),
    **{f"{name}{n}d": (1,) for name in ("AvgPool", "AdaptiveAvgPool") for n in (1, 2, 3)},
    **{f"{name}{n}d": (2, 2, 1) for name in ("Conv", "ConvTranspose") for n in (1, 2, 3)},
    "Linear": (2, 2),
}


@pytest.mark.parametrize("name", [*MADE_WITH, "Dropout", "GELU", "ReLU", "Sigmoid"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_the_dtype_of_what_a_layer_gives(name: str, dtype: torch.dtype) -> None:
    layer = getattr(torch.nn, name)(*MADE_WITH.get(name, ())).to(dtype)
    shape = (2, 2, *(2 for _ in range(int(name[-2]) if re.search(r"\dd$", name) else 0)))
    seen = 0
    for given in (torch.bfloat16, torch.float32, torch.float64) + (torch.int64,) * (name == "Embedding"):
        x = torch.ones(shape, dtype=given)
        try:
            result = layer(x)
        except (RuntimeError, NotImplementedError):
            continue
        seen += 1
        known = torch_api.module(f"torch.nn.{name}")
        assert known is not None
        assert result.dtype == {"self": dtype, "inputs": given}[known.dtype or ""]
    assert seen
