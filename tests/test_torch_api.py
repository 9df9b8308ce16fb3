"""The facts about torch: they read back as written, regenerate to the byte, and hold for every call measured."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.tables import table
from tonumpy.engine.knowledge.torch_api import (
    Callable,
    Decider,
    Module,
    Output,
    Result,
    function,
    module,
    tensor_attribute,
    tensor_method,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "scripts"
FACTS = ROOT / "src/tonumpy/engine/knowledge/torch_api.json"

SAME = Output("tensor", "same", "inputs", "same", "new")
INDICES = Output("tensor", "same", "never", "int64", "new")


def test_comparisons_and_indices_never_require_grad() -> None:
    less = tensor_method("__lt__")
    assert less is not None
    assert less.results == (Result((SAME._replace(grad="never", dtype="bool"),)),)
    assert function("torch.argmax") == Callable("torch.argmax", (Result((INDICES,)),), plain_from=1, may_reduce=True)


def test_the_result_depends_on_the_arguments() -> None:
    maximum = function("torch.max")
    assert maximum is not None
    assert maximum.deciders == (Decider("dim", 1, "value"),)
    whole, along = maximum.results_given(frozenset()), maximum.results_given(frozenset({"dim"}))
    assert [result.container for result in whole] == [""]
    assert along == (Result((SAME, INDICES), "tuple", ("values", "indices"), ("dim",)),)
    assert maximum.results_given(frozenset(), unknown=frozenset({"dim"})) == whole + along


def test_an_index_brings_no_grad() -> None:
    gather, add = tensor_method("gather"), tensor_method("add")
    assert gather is not None
    assert add is not None
    assert [gather.takes_grad_at(place) for place in (1, 2, "index")] == [False, False, False]
    assert add.takes_grad_at(1)
    assert add.takes_grad_at("other")


def test_what_takes_no_tensor_under_a_name_of_its_own() -> None:
    interpolate = function("torch.nn.functional.interpolate")
    assert interpolate is not None
    assert "size" not in torch_api.plain_keywords()
    assert [interpolate.takes_tensor_at(name) for name in ("input", "size", "mode")] == [True, False, False]


def test_a_sum_may_have_no_dimensions() -> None:
    total, mse = function("torch.sum"), module("torch.nn.MSELoss")
    assert total is not None
    assert total.may_reduce
    assert mse is not None
    assert mse.reduces
    assert not (function("torch.exp") or total).may_reduce


def test_several_deciders() -> None:
    unique = tensor_method("unique")
    assert unique is not None
    counted = unique.results_given(frozenset({"return_counts"}), unknown=frozenset({"return_inverse"}))
    assert sorted(len(result.outputs) for result in counted) == [2, 3]


def test_factories_detached_tensors_and_writes() -> None:
    zeros, detach, add = function("torch.zeros"), tensor_method("detach"), tensor_method("add_")
    assert zeros is not None
    assert zeros.results[0].outputs == (Output("tensor", "argument", "argument", "default", "new"),)
    assert zeros.takes == ("device", "dtype", "requires_grad")
    assert detach is not None
    assert detach.results[0].outputs == (Output("tensor", "same", "never", "same", "view"),)
    assert add is not None
    assert (add.results[0].outputs[0].memory, add.writes) == ("inplace", ("self",))


def test_aliases_are_known_under_their_canonical_name() -> None:
    assert function("torch.functional.einsum") == function("torch.einsum")
    assert function("torch.nn.functional.conv2d") == function("torch.conv2d")
    assert tensor_method("__abs__") == tensor_method("abs")


def test_attributes() -> None:
    assert tensor_attribute("T") == Output("tensor", "same", "inputs", "same", "view")
    assert tensor_attribute("data") == Output("tensor", "same", "never", "same", "view")
    assert tensor_attribute("shape") == Output("Size")
    assert tensor_attribute("sum") is None


def test_members_of_distributions() -> None:
    sample, rsample = (function(f"torch.distributions.Distribution.{name}") for name in ("sample", "rsample"))
    assert sample is not None
    assert rsample is not None
    assert (sample.results[0].outputs[0].grad, rsample.results[0].outputs[0].grad) == ("never", "inputs")


def test_layers() -> None:
    assert module("torch.nn.Linear") == Module("torch.nn.Linear", "tensor", has_parameters=True, dtype="self")
    assert module("torch.nn.ReLU") == Module("torch.nn.ReLU", "tensor", has_parameters=False, dtype="inputs")
    assert module("torch.nn.LSTM") == Module("torch.nn.LSTM", "tuple", has_parameters=True, dtype="self")
    assert module("torch.nn.Parameter") is None


def test_what_torch_does_not_have_is_unknown() -> None:
    assert function("torch.argmacks") is None
    assert tensor_method("astype") is None


def test_start_up_reads_no_facts() -> None:
    code = "import sys, tonumpy.engine.knowledge.torch_api as api; sys.exit(api.table.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.fixture(scope="module")
def observations(pytestconfig: pytest.Config) -> Path:
    """What the calls did: measured once for each state of the code that makes them (some two minutes), then kept."""
    torch = pytest.importorskip("torch", reason="the facts about torch are measured on torch")
    pytest.importorskip("expecttest", reason="PyTorch's operator database needs it")
    known = table("torch_api")["torch"]
    if torch.__version__.partition("+")[0] != known:
        pytest.skip(f"the facts are those of torch {known}, {torch.__version__} is installed")
    code = b"".join(path.read_bytes() for path in sorted(SCRIPTS.glob("torch_*.py")))
    key = hashlib.sha256(code + f"{torch.__version__} {sys.version}".encode()).hexdigest()[:16]
    assert pytestconfig.cache is not None
    return Path(pytestconfig.cache.mkdir("torch-observations")) / f"{key}.pickle"


@pytest.mark.slow
def test_facts_regenerate_to_the_byte(observations: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "torch_api.json"
    script = SCRIPTS / "generate_torch_api.py"
    subprocess.run([sys.executable, script, fresh, "--observations", observations], check=True)
    assert fresh.read_text().splitlines() == FACTS.read_text().splitlines()


@pytest.mark.slow
def test_no_call_breaks_a_claim(observations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not observations.exists():
        pytest.fail("test_facts_regenerate_to_the_byte makes the observations and did not")
    monkeypatch.syspath_prepend(str(SCRIPTS))
    measured: dict[str, Counter[Any]] = pickle.loads(observations.read_bytes())
    calls, claims, names = 0, 0, 0
    broken = []
    for name, seen in measured.items():
        attribute = tensor_attribute(name.rpartition(".")[2]) if name.startswith("torch.Tensor.") else None
        known = Callable(name, (Result((attribute,)),)) if attribute is not None else function(name)
        if known is None:
            continue
        names += 1
        calls += sum(seen.values())
        claims += sum(fact is not None for result in known.results for output in result.outputs for fact in output)
        broken += [f"{name}: {what}: {call}" for call in seen for what in broken_by(known, call)]
    assert broken == []
    print(f"{claims} claims on {names} names hold for {calls} calls")
    assert names > 1300


@pytest.mark.slow
def test_a_false_claim_is_seen(observations: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fact of `torch.add` turned into its opposite is broken by a call."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    seen = pickle.loads(observations.read_bytes())["torch.add"]
    add = function("torch.add")
    assert add is not None
    assert not [what for call in seen for what in broken_by(add, call)]
    for false in (
        {"kind": "bool"},
        {"device": "cpu"},
        {"device": "argument"},
        {"grad": "never"},
        {"grad": "always"},
        {"dtype": "same"},
        {"dtype": "int64"},
        {"memory": "view"},
        {"memory": "inplace"},
    ):
        lie = add._replace(results=(Result((add.results[0].outputs[0]._replace(**false),)),))
        assert [what for call in seen for what in broken_by(lie, call)], false
    for lie in (add._replace(plain_from=1), add._replace(gradless=(1,))):
        assert [what for call in seen for what in broken_by(lie, call)]
    everything = pickle.loads(observations.read_bytes())
    for name, false in (("torch.sum", {"may_reduce": False}), ("torch.searchsorted", {"plain": ("sorter",)})):
        known = function(name)
        assert known is not None
        assert [what for call in everything[name] for what in broken_by(known._replace(**false), call)]


def broken_by(known: Callable, call: Any) -> Iterator[str]:  # noqa: ANN401 - an Observation of the scripts
    """The claims that one observed call breaks. A keyword that overrides a claim is taken out of it."""
    given = dict(call.given)
    asked = call.run.removesuffix("=") if call.run.endswith("=") else None
    if asked is not None and asked not in known.takes:
        shown = {
            "device": any(output.device == "meta" for output in call.outputs),
            "inplace": any(output.is_input for output in call.outputs),
            "requires_grad": any(output.requires_grad for output in call.outputs),
            "dtype": False,
        }
        if shown[asked]:
            yield f"takes {asked}="
        return
    for place, what in call.given:
        is_plain = (
            place in torch_api.plain_keywords() or place in known.plain
            if isinstance(place, str)
            else known.plain_from is not None and place >= known.plain_from
        )
        if "tensor" in what and is_plain:
            yield f"no tensor at {place}"
    with_grad = {place for place, what in call.given if what == "tensor with grad"}
    if with_grad and with_grad <= {*known.gradless} and any(output.requires_grad for output in call.outputs):
        yield f"no grad from {sorted(with_grad, key=str)}"
    if not known.may_reduce and any(output.is_reduced for output in call.outputs):
        yield "keeps some dimensions"
    if asked is None and known.writes and 0 not in call.written:
        yield "writes its tensor"
    if [output.kind for output in call.outputs] == ["NoneType"]:
        return  # None in the place of a result is not told
    deciding = {decider.parameter for decider in known.deciders if _is_given(decider, given)}
    results = known.results_given(frozenset(deciding))
    if len(results) != 1:
        yield f"one result for {sorted(deciding)}"
        return
    (result,) = results
    if result.outputs[0].kind == "unknown":
        return
    if bool(result.container) != bool(call.container):
        yield "container"
    elif result.container == "tuple" and (len(result.outputs), result.fields) != (len(call.outputs), call.fields):
        yield "outputs"
    else:
        claimed = result.outputs if result.container == "tuple" else result.outputs * len(call.outputs)
        for claim, output in zip(claimed, call.outputs, strict=True):
            yield from _broken_by_output(claim, output, call, {*given, asked}, _promoted(known, call))


def _is_given(decider: Decider, given: dict[Any, str]) -> bool:
    values = [given[place] for place in (decider.parameter, decider.position) if place in given]
    if decider.given == "true":
        return "True" in values
    return any(decider.given == "any" or (value not in ("False", "None") and "tensor" not in value) for value in values)


_FLOATS = ("torch.float16", "torch.bfloat16", "torch.float32", "torch.float64")
_KINDS = {
    "number": {"bool", "int", "float", "complex"},
    "value": {"bool", "int", "float", "complex", "list", "tuple", "Size", "str", "dtype", "device", "layout"},
}


def _promoted(known: Callable, call: Any) -> str | None:  # noqa: ANN401
    """The dtype of the floating point and complex tensors that bring a grad, or of a method's own."""
    own = {0} if known.name.startswith("torch.Tensor.") else set()
    dtypes = {dtype for place, dtype in call.dtypes if place in own or place not in known.gradless}
    if len(dtypes) == 1:
        return dtypes.pop()
    return "complex" if any("complex" in dtype for dtype in dtypes) else None


def _broken_by_output(
    claim: Output,
    output: Any,  # noqa: ANN401
    call: Any,  # noqa: ANN401
    given: set[Any],
    promoted: str | None,
) -> Iterator[str]:
    if output.kind not in _KINDS.get(claim.kind, {claim.kind}):
        yield f"kind {claim.kind}"
        return
    default_device = "meta" if call.run == "default device" else "cpu"
    if "device" not in given and "meta" not in given:
        own = call.input_devices[0] if call.input_devices else default_device
        # A changed default device moves what is made of data: torch.as_tensor(tensor).
        exempt = claim.device == "same" and call.input_devices and call.run == "default device"
        expected = {"same": own, "argument": default_device, "cpu": "cpu"}.get(claim.device or "", output.device)
        if output.device != expected and not exempt:
            yield f"device {claim.device}"
    if "requires_grad" not in given and not (call.run == "meta" and claim.grad == "inputs"):
        inputs = call.inputs_require_grad
        possible = {
            "never": {False},
            "argument": {False},
            "always": {True},
            "inputs": {inputs},
            "some inputs": {False, inputs},
        }.get(claim.grad or "", {True, False})
        if output.requires_grad not in possible:
            yield f"grad {claim.grad}"
    if "dtype" not in given and claim.dtype is not None:
        expected_dtype = {
            "same": call.first_dtype,
            "same float": call.first_dtype if call.first_dtype in _FLOATS else output.dtype,
            "same alone": call.first_dtype if call.first_dtype == promoted else output.dtype,
            "promoted": promoted or output.dtype,
            "promoted float": promoted if promoted in _FLOATS else output.dtype,
            "default": "torch.float64" if call.run == "default dtype" else "torch.float32",
        }.get(claim.dtype, f"torch.{claim.dtype}")
        if output.dtype != expected_dtype and not (expected_dtype == "complex" and "complex" in output.dtype):
            yield f"dtype {claim.dtype}"
    if "inplace" not in given:
        held = {
            "view": output.shares,
            "new": not output.shares,
            "inplace": output.is_input and bool(call.written),
        }.get(claim.memory or "", True)
        if not held:
            yield f"memory {claim.memory}"
