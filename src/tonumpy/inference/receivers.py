"""Works out what each candidate's receiver is: a conversion for each that may be of a torch tensor."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.conversions import Conversion
from tonumpy.engine.knowledge.chains import Chain, Role, chain_of
from tonumpy.engine.names.bindings import parameter_names, words_of_chain
from tonumpy.engine.names.module_words import names_other_devices
from tonumpy.engine.names.shown_by_runs import has_been_made
from tonumpy.engine.values.evidence import Spot, of_cuts
from tonumpy.engine.values.joins import item_handed_on
from tonumpy.engine.values.reasons import GIVEN, Reason
from tonumpy.engine.values.value_facts import (
    evidence_in,
    have_param_taint,
    join_facts,
    max_device_taint,
    may_be,
    members,
    weaker,
)
from tonumpy.engine.values.values import (
    Arguments,
    Constant,
    DeviceTaint,
    Mapping,
    Method,
    NonTensor,
    Sequence,
    Symbol,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.inference.habits import data_package, dataset_name, label_name, registered_buffer
from tonumpy.inference.habits.program_on_cpu import CpuOnly
from tonumpy.inference.lost_gradients import loses_gradient
from tonumpy.inference.memory.sharers import brings_back, copies_in
from tonumpy.inference.summaries.driver import Observations, Outcome, observe
from tonumpy.inference.transfer.name_heuristics import may_be_trained
from tonumpy.inference.transfer.targets import Observation
from tonumpy.text.candidates import find_calls
from tonumpy.text.syntax import FUNCTIONS, SCOPES, walk
from tonumpy.text.uncommented import uncommented

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Sequence as Items
    from typing import TypeVar

    from tonumpy.engine.names.module import Module
    from tonumpy.engine.values.evidence import AllEvidence, Aspect, Basis
    from tonumpy.facts import Certainty, Fact
    from tonumpy.inference.memory.sharing import Sharing
    from tonumpy.inference.memory.state import Overwritten
    from tonumpy.text.candidates import Candidate, OperationSite, Site

    _Asked = TypeVar("_Asked", "Candidate", "Site", "OperationSite")

_UNREACHED = Observation(Unknown(Reason.CUT_SHORT), (), Arguments(()), None)


def infer(
    module: Module,
    candidates: Items[Candidate],
    sharing: Callable[[], Sharing],
    may_concern: Callable[[list[Candidate]], bool],
) -> list[Conversion]:
    """Conversions in the order of the candidates; those of values that are surely no torch tensors are left out.

    `sharing` tells what is written through memory that they share, `may_concern` whether more than grad and device
    counts for any of some candidates.
    """
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code: what it converts is its own
    cpu_only = CpuOnly(module)
    observed = observe(
        module,
        candidates,
        outcome=lambda group, seen: _outcome(_conversions(module, cpu_only, group, seen), may_concern),
    )
    found = [
        _asked_last(module, each, observed.get(id(candidate.call), _UNREACHED))
        for candidate, each in zip(candidates, _conversions(module, cpu_only, candidates, observed), strict=True)
    ]
    torch_tensors = [
        each._replace(trained_in=loses_gradient(module, each.candidate)) for each in found if each is not None
    ]
    return _with_sharing(module, sharing, torch_tensors)


def _conversions(
    module: Module, cpu_only: CpuOnly, candidates: Items[Candidate], observed: Observations
) -> list[Conversion | None]:
    return [_conversion(module, cpu_only, each, observed.get(id(each.call), _UNREACHED)) for each in candidates]


def _outcome(
    found: list[Conversion | None],
    may_concern: Callable[[list[Candidate]], bool],
) -> Outcome:
    cannot_raise = all(each is None or (each.grad_is_proved and each.device_is_proved) for each in found)
    concerned = [each.candidate for each in found if each is not None]
    return Outcome(found, cannot_raise and not may_concern(concerned))


def _with_sharing(module: Module, sharing: Callable[[], Sharing], conversions: list[Conversion]) -> list[Conversion]:
    """The same with what is written through shared memory, for the conversions that may share it."""
    return [
        each
        if each.copies or each.on_cpu is False or each.certainty == "possible"
        else each._replace(
            tensor_written=first_shared(module, sharing().of_tensors.get(each.candidate.call, ())),
            array_written=first_shared(module, sharing().of_arrays.get(each.candidate.call, ())),
        )
        for each in conversions
    ]


def first_shared(module: Module, found: Iterable[Overwritten]) -> Overwritten | None:
    return next((each for each in found if each.through is None or _may_share(module, each.through)), None)


def _may_share(module: Module, call: ast.Call) -> bool:
    """Whether what the function that converts is given in this call may be a tensor on the CPU."""
    seen = observe(module, find_calls(module.source, [call.lineno], lambda other: other is call)).get(id(call))
    if seen is None:
        return True
    given = (*seen.arguments.positional, *(value for _, value in seen.arguments.named))
    if any(isinstance(part, Tensor) and part.on_cpu is False for value in given for part in members(value)):
        return False
    return not given or not all(isinstance(part, (NonTensor, Constant)) for value in given for part in members(value))


def _conversion(module: Module, cpu_only: CpuOnly, candidate: Candidate, seen: Observation) -> Conversion | None:
    """What the rules judge; None where the receiver is surely no torch tensor."""
    if candidate.is_unbound:
        converted = _given_to_unbound(candidate, seen)
        if converted is None:
            return None
        seen = seen._replace(receiver=converted, links=())
    kind = _kind_and_facts(module, seen.receiver)
    if kind is None:
        return None
    certainty, facts, is_settled = kind
    cpu, grad, evidence = _as_habits_have_it(module, cpu_only, candidate, seen, facts)
    chain = _with_own_data(chain_of(candidate.receiver), seen)
    tensor = _sole_tensor(seen.receiver) or Tensor()
    return Conversion(
        candidate,
        chain,
        certainty,
        cpu,
        grad,
        seen.grad_mode,
        _data_of_tensor(chain, seen),
        tensor.dtype,
        tensor.layout,
        tensor.bit,
        tensor.is_item,
        copies_in(chain, candidate.receiver, dict(seen.links)),
        is_sent=max_device_taint(members(seen.receiver)) >= DeviceTaint.GIVEN,
        param_taint=have_param_taint(members(seen.receiver)),
        evidence=evidence,
        is_settled=is_settled,
        is_brought_back=brings_back(chain, dict(seen.links)),
    )


def _kind_and_facts(module: Module, receiver: Value) -> tuple[Certainty, tuple[Fact, Fact], bool] | None:
    """How sure it is that a receiver is a torch tensor, whether it is on the CPU, and whether it requires grad; and
    whether that is all there is to be found, or what might have shown another kind was cut off."""
    certainty: Certainty | None = None
    is_settled = True
    facts: list[tuple[Fact, Fact]] = []
    is_doubtful = False
    for value in members(receiver):
        if isinstance(value, Tensor):
            facts.append((value.on_cpu, value.requires_grad))
            certainty = weaker(value.certainty, certainty or "tensor")
        elif isinstance(value, Unknown):
            if not value.is_no_tensor:
                facts.append((value.on_cpu, value.requires_grad))
            is_doubtful = True
        elif not isinstance(value, (NonTensor, Constant, Sequence, Mapping)):
            return None  # something that has a `numpy` of its own
    if not facts:
        return None
    if certainty is None or is_doubtful:
        spoken = module.frameworks
        if spoken.has_rivals or spoken.hands_out_wrappers or (certainty is None and not spoken.speaks_of_torch):
            is_settled = not of_cuts(evidence_in(receiver))
            if is_settled:
                return None
        certainty = "possible"
    return certainty, join_facts(facts), is_settled


def _as_habits_have_it(
    module: Module, cpu_only: CpuOnly, candidate: Candidate, seen: Observation, facts: tuple[Fact, Fact]
) -> tuple[Fact, Fact, AllEvidence]:
    """The facts, and what they rest on, once habits have been asked about those that are not known."""
    cpu: Fact
    grad: Fact
    cpu, grad = facts
    evidence = evidence_in(seen.receiver) | seen.evidence
    device_taint = max_device_taint(members(seen.receiver))
    where = Spot(module.filename, candidate.call.lineno, module.disabled_habits)
    if (
        cpu is None
        and device_taint < DeviceTaint.CHOSEN
        and cpu_only.runs(candidate.scopes, detaches=_is_detached(candidate))
    ):
        basis = where.habit("program-on-cpu", "this program or test uses no device but the CPU")
        cpu, evidence = _learnt(cpu, True, "device", basis, evidence)
    if grad is None and cpu_only.has_raised(candidate.scopes):
        basis = where.habit("passed-test", "the test passed, so this did not raise")
        grad, evidence = _learnt(grad, False, "grad", basis, evidence)
    is_of_model = have_param_taint(members(seen.receiver))
    place = candidate.call, candidate.statement, candidate.scopes
    if grad is None and not is_of_model and has_been_made(module, *place):
        basis = where.habit("cell-that-ran", "the cell has run, so this did not raise")
        grad, evidence = _learnt(grad, False, "grad", basis, evidence)
    if (cpu is None or grad is None) and device_taint is DeviceTaint.NONE and _is_of_data(module):
        basis = where.habit("data-package", "a package that prepares data has no model or GPU yet")
        if cpu is None and not _is_tensor_of_user(candidate, seen):
            cpu, evidence = _learnt(cpu, True, "device", basis, evidence)
        if grad is None and not is_of_model:
            grad, evidence = _learnt(grad, False, "grad", basis, evidence)
    if cpu is None and device_taint is DeviceTaint.NONE and _is_given_in_test(module, candidate, seen):
        basis = where.habit("test-parameter", "the test makes its own tensors and names no device")
        cpu, evidence = _learnt(cpu, True, "device", basis, evidence)
    if cpu is None and grad is False and _is_given_labels(candidate, seen):
        basis = where.habit("label-name", "labels are kept on the CPU")
        cpu, evidence = _learnt(cpu, True, "device", basis, evidence)
    return cpu, grad, evidence


def _is_detached(candidate: Candidate) -> bool:
    """`x.detach().numpy()`, `x.grad.numpy()`."""
    words = words_of_chain(candidate.receiver)
    return chain_of(candidate.receiver).detach is not None or "grad" in words


def _asked_last(module: Module, conversion: Conversion | None, seen: Observation) -> Conversion | None:
    """What is converted, once those habits of its grad have been asked that count only where no caller in sight tells
    better."""
    if conversion is None or not conversion.may_raise_by_grad or conversion.requires_grad or conversion.param_taint:
        return conversion
    candidate = conversion.candidate
    where = Spot(module.filename, candidate.call.lineno, module.disabled_habits)
    basis = None
    if _is_told_by_cpu_alone(candidate, conversion.chain, seen):
        basis = where.habit("cpu-alone", "who brings this to the CPU has run the line, and it did not require grad")
    name = _attribute_of_unknown(candidate, conversion.chain, seen)
    if basis is None and name is not None and registered_buffer.is_meant(name, module):
        basis = where.habit("registered-buffer", f"`{name}` is registered as a buffer in this repository")
    grad, evidence = _learnt(None, False, "grad", basis, conversion.evidence)
    return conversion._replace(requires_grad=grad, evidence=evidence)


def _attribute_of_unknown(candidate: Candidate, chain: Chain, seen: Observation) -> str | None:
    """The attribute that is converted, or brought to the CPU for that, if the object is unknown."""
    node = candidate.receiver if chain.cpu is None else chain.cpu.base
    if not isinstance(node, ast.Attribute):
        return None
    values = members(dict(seen.links).get(id(node), seen.receiver))
    owners = [each.receiver if isinstance(each, Method) else each for each in values]
    return node.attr if all(isinstance(each, Unknown) for each in owners) else None


def _is_told_by_cpu_alone(candidate: Candidate, chain: Chain, seen: Observation) -> bool:
    """Whether what is brought to the CPU was given from out of sight, or is an item of that, and nothing but what is
    done to it here says that it is a tensor."""
    if chain.cpu is None or seen.may_have_grad or any(map(may_be_trained, words_of_chain(candidate.receiver))):
        return False
    values = dict(seen.links)
    before = chain.links[: chain.links.index(chain.cpu) + 1]
    return all(_is_given_and_unknown(values.get(id(link.base), seen.receiver)) for link in before)


def _is_given_and_unknown(value: Value) -> bool:
    """Whether a parameter, or an item of one, or what is made of it alone, is not known to be more; it may be None."""
    parts = [each for each in members(value) if not isinstance(each, Constant)]
    return bool(parts) and all(
        each.is_given and each.certainty == "likely"
        if isinstance(each, Tensor)
        else isinstance(each, Unknown) and each.reason in (Reason.PARAMETER, Reason.ITEM_OF_GIVEN)
        for each in parts
    )


def _learnt(
    known: Fact, fact: bool, about: Aspect, basis: Basis | None, evidence: AllEvidence
) -> tuple[Fact, AllEvidence]:
    """A fact, and what it rests on with the rest, once a habit has been believed, if it is."""
    return (known, evidence) if basis is None else (fact, evidence | basis.about(about))


def _given_to_unbound(candidate: Candidate, seen: Observation) -> Value | None:
    """What `torch.Tensor.numpy` is called with; None where it is no method of torch's own."""
    given = seen.arguments.positional
    if candidate.call.func is candidate.attribute:
        return given[0] if given and seen.receiver == Symbol("torch.Tensor") else None
    if len(given) < 2 or given[0] != Symbol("torch.Tensor.numpy"):
        return None
    return item_handed_on(given[1])


def _is_given_labels(candidate: Candidate, seen: Observation) -> bool:
    """Whether a function is given what may be no tensor at all, and is called labels or lengths: such is nearly always
    on the CPU, too. What a chain detaches, `labels.data.numpy()`, is nothing that was given."""
    if not any(map(label_name.is_meant, words_of_chain(candidate.receiver))):
        return False
    values = [value for value in members(seen.receiver) if not isinstance(value, (NonTensor, Constant))]
    return all(
        isinstance(value, Unknown) and value.reason in (Reason.PARAMETER, Reason.ITEM_OF_GIVEN) for value in values
    )


def _is_tensor_of_user(candidate: Candidate, seen: Observation) -> bool:
    """Whether it is surely a tensor, in a public function or class: who uses that may have put it anywhere. Not so what
    is taken out of a dataset, or what a class works on that is called one: loaders run it in processes of their own."""
    if any(map(dataset_name.is_meant, words_of_chain(candidate.receiver))):
        return False
    named = [scope.name for scope in candidate.scopes if isinstance(scope, SCOPES)]
    if any(name.startswith("_") and not name.endswith("__") for name in named):
        return False
    if named and named[0].lower().endswith("dataset"):
        return False
    values = [each for each in members(seen.receiver) if not isinstance(each, (NonTensor, Constant))]
    return all(isinstance(each, Tensor) and each.certainty == "tensor" for each in values)


def _is_of_data(module: Module) -> bool:
    return data_package.is_meant(module.use.names_around) and not module.use.is_script


def _is_given_in_test(module: Module, candidate: Candidate, seen: Observation) -> bool:
    """Whether a function in a module of tests, which is no test itself, is given it, and speaks of no device."""
    function = candidate.scopes[-1]
    if not module.use.holds_tests or not isinstance(function, FUNCTIONS) or function.name.startswith("test"):
        return False
    text = uncommented(module.source.text_of(function))
    if "device" in text or names_other_devices(text) or module.words.speaks_of_variables:
        return False
    named = {node.id for node in walk(candidate.receiver) if isinstance(node, ast.Name)} - module.names.bindings.keys()
    links = chain_of(candidate.receiver).links
    start = dict(seen.links).get(id(links[0].base), seen.receiver) if links else seen.receiver
    values = [value for value in members(start) if not isinstance(value, (NonTensor, Constant))]
    return named.issubset(parameter_names(function.args)) and all(
        value.is_given if isinstance(value, Tensor) else isinstance(value, Unknown) and value.reason in GIVEN
        for value in values
    )


def _sole_tensor(receiver: Value) -> Tensor | None:
    """The tensor that a receiver is; None where it may be something else of which little is known."""
    values = [value for value in members(receiver) if not isinstance(value, (NonTensor, Constant))]
    return values[0] if len(values) == 1 and isinstance(values[0], Tensor) else None


def _with_own_data(chain: Chain, seen: Observation) -> Chain:
    """The chain; `.data` of what is no tensor is an attribute like any other, and detaches nothing."""
    values = dict(seen.links)
    return Chain(
        tuple(
            link._replace(role=Role.OTHER)
            if link.role is Role.DATA and _is_tensor(values.get(id(link.base))) is False
            else link
            for link in chain.links
        )
    )


def _data_of_tensor(chain: Chain, seen: Observation) -> Fact:
    """Whether the base of the chain's `.data` is a tensor; None where the chain has none or nothing is known of it."""
    if chain.detach is None or chain.detach.role is not Role.DATA:
        return None
    return _is_tensor(dict(seen.links).get(id(chain.detach.base)))


def _is_tensor(value: Value | None) -> Fact:
    if value is None or may_be(value, Unknown):
        return None
    kinds = {isinstance(member, Tensor) for member in members(value)}
    return kinds.pop() if len(kinds) == 1 else None
