"""From the known calls of a function that others call too to the arguments that may stand for all calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.values.evidence import Strength
from tonumpy.engine.values.joins import join, join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    evidence_in,
    have_param_taint,
    held_in,
    mapped,
    max_device_taint,
    may_be,
    may_raise,
    members,
    resting_on,
    tensor_facts,
)
from tonumpy.engine.values.values import (
    BoundMethod,
    Constant,
    Function,
    Instance,
    Mapping,
    NonTensor,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.inference.summaries.entry import OUT_OF_SIGHT, Entry

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Items

    from tonumpy.engine.values.evidence import AllEvidence, Basis


_CALLED = (Function, BoundMethod)
# Arrays, and what makes some of what its methods are given.
_OBJECTS_OF_LIBRARIES = ("numpy.", "matplotlib.", "h5py.", "pandas.", "netCDF4.", "zarr.", "xarray.")


def given_by_all(values: Items[Value]) -> Value:
    """The join of what several calls give a parameter. If one gives a tensor that raises, calls that give an array do
    not hide it: `env.step(action.numpy())` and `env.step(action)`."""
    if NonTensor in map(type, values) and any(isinstance(each, Tensor) and may_raise((each,)) for each in values):
        values = [each for each in values if not isinstance(each, NonTensor)]
    return join_all(values)


def only_what_is_detached(entry: Entry, is_enough: Callable[[Value], bool], basis: Basis | None) -> Entry:
    """The entry, reduced to arguments that no call in the module gives with grad: by habit, other callers detach them
    too.

    What is only on the CPU at these calls, and is detached by the function, is not kept: others may give anything.
    """
    detached: dict[str, Value] = {}
    if basis is not None:
        detached = {
            name: resting_on(_wherever_unknown(value), basis.about("grad"))
            for name, value in entry.arguments.items()
            if is_enough(value)
        }
    at_risk = {
        name: _at_risk(value)
        for name, value in entry.arguments.items()
        if name not in detached and (max_device_taint(held_in(value)) or have_param_taint((value,)))
    }
    kept = {
        name: each
        for name, each in entry.arguments.items()
        if _draws(each) or may_be(each, _CALLED) or _holds_objects(each)
    }
    objects = {name: join(each, Unknown(Reason.PARAMETER)) for name, each in kept.items()}
    known = {**detached, **at_risk, **objects}
    if basis is not None and entry.grad_mode is False:
        return Entry(known, False, evidence=entry.evidence | basis.about("grad mode"))
    return Entry(known, None) if known else OUT_OF_SIGHT


def _draws(value: Value) -> bool:
    """Whether it is an array, or of a library whose methods make some of what they are given: the axes of a plot."""
    return any(isinstance(each, NonTensor) and each.what.startswith(_OBJECTS_OF_LIBRARIES) for each in members(value))


def _holds_objects(value: Value) -> bool:
    """Whether it is a list of objects of a class in sight."""
    return isinstance(value, Sequence) and may_be(value.element, Instance)


def _at_risk(value: Value) -> Value:
    """What one call gives that may raise is given, whatever others give; and nothing else is known of it."""
    if isinstance(value, (Sequence, Mapping)):
        return mapped(value, _at_risk)
    held = tuple(held_in(value))
    taints = max_device_taint(held), have_param_taint(held)
    return Unknown(Reason.PARAMETER, evidence=_by_calls(value), device_taint=taints[0], param_taint=taints[1])


def _by_calls(value: Value) -> AllEvidence:
    return frozenset(each for each in evidence_in(value) if each.strength is Strength.CALLERS)


def is_detached(value: Value) -> bool:
    """True if the value is surely a tensor without grad."""
    tensors = [member for member in members(value) if not isinstance(member, (NonTensor, Constant))]
    return bool(tensors) and all(isinstance(member, Tensor) and member.requires_grad is False for member in tensors)


def is_free(value: Value) -> bool:
    """True if the value may hold tensors and none of them requires grad (of methods that only their class calls)."""
    return tensor_facts(value)[1] is False and any(isinstance(part, (Tensor, Unknown)) for part in held_in(value))


def _wherever_unknown(value: Value) -> Value:
    """Drop CPU facts from unknown values, which may be anything (a batch of some loader); keep those of tensors."""
    return value._replace(on_cpu=None) if isinstance(value, Unknown) else mapped(value, _wherever_unknown)
