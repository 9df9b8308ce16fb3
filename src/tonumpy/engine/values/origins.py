"""The origin of facts, for `tonumpy why`: adds to a value the line in which each fact is first known.

A check does not use this.
"""

from __future__ import annotations

from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import AllEvidence, Aspect, Evidence, Strength
from tonumpy.engine.values.value_facts import mapped
from tonumpy.facts import Fact

_TRUE = "true from this line on"
_TOLD = {
    "unknown": "unknown from this line on",
    "chosen": "chosen at run time from this line on",
    "learns": "computed from parameters from this line on",
}
_OPEN = ("unknown", "chosen", "learns")  # what a join of other states may give


def begun_at(value: v.Value, filename: str, row: int) -> v.Value:
    """The value with this line as evidence for each fact that is new in it."""
    if isinstance(value, (v.Tensor, v.Unknown, v.LibraryObject, v.Instance)):
        evidence = value.evidence
        for about, state, message in _states(value):
            evidence = _with_state(evidence, about, state, message, filename, row)
        return value if evidence == value.evidence else value._replace(evidence=evidence)
    return mapped(value, lambda part: begun_at(part, filename, row))


def state_of_device(on_cpu: Fact, *, is_sent: bool) -> str:
    if on_cpu is None:
        return "chosen" if is_sent else "unknown"
    return "on the CPU" if on_cpu else "elsewhere"


def state_of_grad(requires_grad: Fact, *, param_taint: bool) -> str:
    if requires_grad is None:
        return "learns" if param_taint else "unknown"
    return "requires grad" if requires_grad else "none"


def _states(value: v.Tensor | v.Unknown | v.LibraryObject | v.Instance) -> list[tuple[Aspect, str, str]]:
    if isinstance(value, v.Instance):  # results are cached by instance, so only evidence that matters is added
        return [("device", "chosen", _TOLD["chosen"])] if value.on_cpu is None and value.device_taint else []
    param_taint = isinstance(value, v.LibraryObject) or value.param_taint  # as a layer's result has
    states: tuple[tuple[Aspect, str], ...] = (
        ("device", state_of_device(value.on_cpu, is_sent=bool(value.device_taint))),
        ("grad", state_of_grad(value.requires_grad, param_taint=param_taint)),
    )
    told = [(about, state, _TOLD.get(state, _TRUE)) for about, state in states]
    if isinstance(value, v.Unknown):
        told.append(("kind", "unknown", value.reason.value))
    elif isinstance(value, v.Tensor):
        told.append(("kind", value.certainty, _TRUE))
        if value.dtype is not None:
            told.append(("dtype", value.dtype, _TRUE))
    return told


def _with_state(evidence: AllEvidence, about: Aspect, state: str, message: str, filename: str, row: int) -> AllEvidence:
    known = [each for each in evidence if each.about == about and each.row]
    if any(each.strength is not Strength.PROOF for each in known):
        return evidence  # which has its own place
    states = {each.id for each in known}
    if state in states or (len(states) > 1 and state in _OPEN):
        return evidence
    return evidence.difference(known) | {Evidence(Strength.PROOF, about, state, message, filename, row)}
