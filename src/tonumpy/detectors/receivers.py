"""Infers each candidate's receiver, and returns a conversion for each that may be a torch tensor."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from tonumpy.conversions import MethodConversion
from tonumpy.detectors.completeness import complete_candidates
from tonumpy.detectors.cpu_programs import CpuOnly
from tonumpy.detectors.lost_gradients import loses_gradient
from tonumpy.detectors.memory import Sharing
from tonumpy.detectors.registry import Search
from tonumpy.detectors.shared_calls import brings_back, copies_in
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.knowledge.chains import Chain, Role, chain_of
from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.names.bindings import parameter_names, words_of_chain
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.module_words import names_other_devices
from tonumpy.engine.names.shown_by_runs import has_been_made
from tonumpy.engine.names.torch_transforms import transformed_around
from tonumpy.engine.summaries.driver import Observations, Outcome, observe
from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import Spot
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
from tonumpy.facts import Certainty, Fact
from tonumpy.text.candidates import Candidate
from tonumpy.text.syntax import FUNCTIONS, SCOPES, walk
from tonumpy.text.uncommented import uncommented

KIND = "receivers"
GOES_DEEP = True

_UNREACHED = Observation(v.Unknown(Reason.CUT_SHORT), (), v.Arguments(()), None)
_PLAIN = (v.NonTensor, v.Constant, v.Sequence, v.Mapping)


def find(search: Search) -> list[MethodConversion]:
    """The conversions by `.numpy()`, without complete ones that concern no selected rule; these are not inferred."""
    complete = complete_candidates(search.module.source, search.candidates)
    passed_over = {id(candidate) for candidate in complete} - search.concerned(complete)
    candidates = [candidate for candidate in search.candidates if id(candidate) not in passed_over]
    if not candidates:
        return []
    return infer(search.module, candidates, lambda: search.sharing, lambda each: bool(search.concerned(each)))


def infer(
    module: Module,
    candidates: Sequence[Candidate],
    sharing: Callable[[], Sharing],
    may_concern: Callable[[list[Candidate]], bool],
) -> list[MethodConversion]:
    """The conversions in the order of the candidates, without those of values that are surely no torch tensors."""
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code, which converts its own tensors
    cpu_only = CpuOnly(module)

    def made(group: Sequence[Candidate], seen: Observations) -> list[MethodConversion | None]:
        return [_conversion(module, cpu_only, each, seen.get(id(each.call), _UNREACHED)) for each in group]

    def outcome(group: Sequence[Candidate], seen: Observations) -> Outcome:
        found = made(group, seen)
        cannot_raise = all(
            _is_surely_none(module, seen.get(id(candidate.call), _UNREACHED).receiver)
            if each is None
            else each.grad_is_proved and each.device_is_proved
            for candidate, each in zip(group, found, strict=True)
        )
        concerned = [each.site for each in found if each is not None]
        return Outcome(found, cannot_raise and not may_concern(concerned))

    observed = observe(module, candidates, outcome=outcome)
    found = made(candidates, observed)
    torch_tensors = [
        replace(
            each,
            trained_in=loses_gradient(module, each.site),
            transformed=transformed_around(module.source, each.site.scopes, each.site.call),
        )
        for each in found
        if each is not None
    ]
    return _with_sharing(sharing, torch_tensors)


def _is_surely_none(module: Module, receiver: v.Value) -> bool:
    """True unless callers may show a torch tensor: False if the receiver is unknown and the module has no rival
    framework."""
    return module.frameworks.has_rivals or not may_be(receiver, v.Unknown)


def _with_sharing(sharing: Callable[[], Sharing], conversions: list[MethodConversion]) -> list[MethodConversion]:
    """Add the writes through shared memory to the conversions that may share it."""
    return [
        each
        if each.copies or each.on_cpu is False or each.certainty == "possible"
        else replace(
            each,
            tensor_written=sharing().of_tensors.get(each.site.call),
            array_written=sharing().of_arrays.get(each.site.call),
        )
        for each in conversions
    ]


def _conversion(module: Module, cpu_only: CpuOnly, candidate: Candidate, seen: Observation) -> MethodConversion | None:
    """The conversion of a candidate; None if the receiver is surely no torch tensor."""
    if candidate.is_unbound:
        converted = _given_to_unbound(candidate, seen)
        if converted is None:
            return None
        seen = seen._replace(receiver=converted, links=())
    kind = _kind_and_facts(module, seen.receiver)
    if kind is None:
        return None
    certainty, (cpu, grad) = kind
    evidence = evidence_in(seen.receiver) | seen.evidence
    spot = Spot(module.filename, candidate.call.lineno, module.disabled_habits)
    for habit, message, believes_cpu, believes_grad in _habits(module, cpu_only, candidate, seen, cpu, grad):
        if (basis := spot.habit(habit, message)) is None:
            continue
        if believes_cpu and cpu is None:
            cpu, evidence = True, evidence | basis.about("device")
        if believes_grad and grad is None:
            grad, evidence = False, evidence | basis.about("grad")
    chain = _with_own_data(chain_of(candidate.receiver), seen)
    tensor = _sole_tensor(seen.receiver)
    is_of_tensor = None
    if chain.detach is not None and chain.detach.role is Role.DATA:
        is_of_tensor = _is_tensor(dict(seen.links).get(id(chain.detach.base)))
    return MethodConversion(
        site=candidate,
        certainty=certainty,
        chain=chain,
        on_cpu=cpu,
        requires_grad=grad,
        grad_mode=seen.grad_mode,
        dtype=tensor.dtype,
        layout=tensor.layout,
        bit=tensor.bit,
        data_of_tensor=is_of_tensor,
        is_item=tensor.is_item,
        copies=copies_in(chain, candidate.receiver, dict(seen.links)),
        is_sent=max_device_taint(members(seen.receiver)) >= v.DeviceTaint.GIVEN,
        param_taint=have_param_taint(members(seen.receiver)),
        evidence=evidence,
        is_brought_back=brings_back(chain, dict(seen.links)),
    )


def _sole_tensor(receiver: v.Value) -> v.Tensor:
    """The receiver's tensor, if it is one tensor and else only numbers; otherwise a tensor without facts."""
    values = [each for each in members(receiver) if not isinstance(each, (v.NonTensor, v.Constant))]
    return values[0] if len(values) == 1 and isinstance(values[0], v.Tensor) else v.Tensor()


def _kind_and_facts(module: Module, receiver: v.Value) -> tuple[Certainty, tuple[Fact, Fact]] | None:
    """The certainty that a receiver is a torch tensor, and its facts (`on_cpu`, `requires_grad`); None if it is no
    tensor."""
    certainty: Certainty | None = None
    facts: list[tuple[Fact, Fact]] = []
    is_doubtful = False
    for value in members(receiver):
        if isinstance(value, v.Tensor):
            facts.append((value.on_cpu, value.requires_grad))
            certainty = weaker(value.certainty, certainty or "tensor")
        elif isinstance(value, v.Unknown):
            if not value.is_no_tensor:
                facts.append((value.on_cpu, value.requires_grad))
            is_doubtful = True
        elif not isinstance(value, _PLAIN):
            return None  # an object with a `numpy` of its own
    if not facts:
        return None
    if certainty is None or is_doubtful:
        spoken = module.frameworks
        if spoken.has_rivals or spoken.hands_out_wrappers or (certainty is None and not spoken.speaks_of_torch):
            return None
        certainty = "possible"
    return certainty, join_facts(facts)


def _habits(
    module: Module, cpu_only: CpuOnly, candidate: Candidate, seen: Observation, cpu: Fact, grad: Fact
) -> list[tuple[str, str, bool, bool]]:
    """The habits that apply to a candidate: identifier, message, whether they assume the CPU, and no grad."""
    found: list[tuple[str, str, bool, bool]] = []
    taint, is_of_model = max_device_taint(members(seen.receiver)), have_param_taint(members(seen.receiver))
    is_open, is_sent = cpu is None, taint is not v.DeviceTaint.NONE
    if is_open and taint < v.DeviceTaint.CHOSEN and _is_run_on_cpu(cpu_only, candidate):
        found.append(("program-on-cpu", "this program or test uses no device but the CPU", True, False))
    if grad is None and cpu_only.has_raised(candidate.scopes):
        found.append(("passed-test", "the test passed, so this did not raise", False, True))
    elif grad is None and not is_of_model and _has_run(module, candidate):
        found.append(("cell-that-ran", "the cell has run, so this did not raise", False, True))
    if not is_sent and _is_of_data_package(module):
        message = "a package that prepares data has no model or GPU yet"
        found.append(("data-package", message, not _is_tensor_of_user(candidate, seen), not is_of_model))
    if is_open and not is_sent and _is_given_in_test(module, candidate, seen):
        found.append(("test-parameter", "the test makes its own tensors and names no device", True, False))
    if is_open and (grad is False or _believe_no_grad(found)) and _is_given_label(candidate, seen):
        found.append(("label-name", "labels are kept on the CPU", True, False))
    return found


def _believe_no_grad(habits: list[tuple[str, str, bool, bool]]) -> bool:
    return any(believes_grad for *_, believes_grad in habits)


def _is_run_on_cpu(cpu_only: CpuOnly, candidate: Candidate) -> bool:
    detaches = chain_of(candidate.receiver).detach is not None or "grad" in words_of_chain(candidate.receiver)
    return cpu_only.runs(candidate.scopes, detaches=detaches)


def _has_run(module: Module, candidate: Candidate) -> bool:
    return has_been_made(module, candidate.call, candidate.statement, candidate.scopes)


def _is_of_data_package(module: Module) -> bool:
    around = module.use.names_around
    return not module.use.is_script and any(is_named("data-package", name.lower()) for name in around)


def _given_to_unbound(candidate: Candidate, seen: Observation) -> v.Value | None:
    """The argument of `torch.Tensor.numpy(x)`, or an item of `map(torch.Tensor.numpy, xs)`; None for another
    function."""
    given = seen.arguments.positional
    if candidate.call.func is candidate.attribute:
        return given[0] if given and seen.receiver == v.Symbol("torch.Tensor") else None
    if len(given) < 2 or given[0] != v.Symbol("torch.Tensor.numpy"):
        return None
    return item_handed_on(given[1])


def _is_given_label(candidate: Candidate, seen: Observation) -> bool:
    if not any(is_named("label-name", word) for word in words_of_chain(candidate.receiver)):
        return False
    values = [each for each in members(seen.receiver) if not isinstance(each, (v.NonTensor, v.Constant))]
    given = (Reason.PARAMETER, Reason.ITEM_OF_GIVEN)
    return all(isinstance(each, v.Unknown) and each.reason in given for each in values)


def _is_given_in_test(module: Module, candidate: Candidate, seen: Observation) -> bool:
    """True if the receiver comes from parameters of a helper in a test module that names no device."""
    function = candidate.scopes[-1]
    if not module.use.holds_tests or not isinstance(function, FUNCTIONS) or function.name.startswith("test"):
        return False
    if _speaks_of_devices(module, uncommented(module.source.text_of(function))):
        return False
    named = {node.id for node in walk(candidate.receiver) if isinstance(node, ast.Name)} - module.names.bindings.keys()
    links = chain_of(candidate.receiver).links
    start = dict(seen.links).get(id(links[0].base), seen.receiver) if links else seen.receiver
    values = [value for value in members(start) if not isinstance(value, (v.NonTensor, v.Constant))]
    return named.issubset(parameter_names(function.args)) and all(
        value.is_given if isinstance(value, v.Tensor) else isinstance(value, v.Unknown) and value.reason in GIVEN
        for value in values
    )


def _speaks_of_devices(module: Module, text: str) -> bool:
    return "device" in text or names_other_devices(text) or module.words.speaks_of_variables


def _is_tensor_of_user(candidate: Candidate, seen: Observation) -> bool:
    """True if it is surely a tensor, in a public function or class, whose users may have moved it to any device."""
    if any(is_named("dataset-name", word) for word in words_of_chain(candidate.receiver)):
        return False
    named = [scope.name for scope in candidate.scopes if isinstance(scope, SCOPES)]
    if any(name.startswith("_") and not name.endswith("__") for name in named):
        return False
    if named and named[0].lower().endswith("dataset"):
        return False
    values = [each for each in members(seen.receiver) if not isinstance(each, (v.NonTensor, v.Constant))]
    return all(isinstance(each, v.Tensor) and each.certainty == "tensor" for each in values)


def _with_own_data(chain: Chain, seen: Observation) -> Chain:
    """The chain, with the role OTHER for `.data` of an object that is no tensor, which detaches nothing."""
    values = dict(seen.links)
    return Chain(
        tuple(
            link._replace(role=Role.OTHER)
            if link.role is Role.DATA and _is_tensor(values.get(id(link.base))) is False
            else link
            for link in chain.links
        )
    )


def _is_tensor(value: v.Value | None) -> Fact:
    if value is None or may_be(value, v.Unknown):
        return None
    kinds = {isinstance(member, v.Tensor) for member in members(value)}
    return kinds.pop() if len(kinds) == 1 else None
