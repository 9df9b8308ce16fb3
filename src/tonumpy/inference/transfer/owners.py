"""From a library object to the device taint and the tensors that it passes on to what it holds or makes."""

from __future__ import annotations

from tonumpy.inference.lattice.evidence import only
from tonumpy.inference.lattice.values import (
    Arguments,
    DeviceTaint,
    Instance,
    LibraryObject,
    Tensor,
    evidence_in,
    max_device_taint,
    tensor_facts,
)
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.knowledge.libraries.rows import Promise
    from tonumpy.inference.lattice.values import Value

# Words of `promise.device` by which a tensor is where its module is.
_WITH_ITS_OWNER = ("self", "both", "parameters")

_LOCATION, _SCALE = (
    dict.fromkeys(("loc", "mean", "mode"), "loc"),
    dict.fromkeys(("scale", "stddev", "variance"), "scale"),
)
# Distributions, with what is made of one of their two parameters alone.
_OF_ONE_PARAMETER: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "Normal": (("loc", "scale"), {**_LOCATION, **_SCALE}),
    "Laplace": (("loc", "scale"), {**_LOCATION, **_SCALE}),
    "Uniform": (("low", "high"), {"low": "low", "high": "high"}),
    "Gamma": (("concentration", "rate"), {"concentration": "concentration", "rate": "rate"}),
}


def sent_with(promise: Promise, owner: Value | None) -> DeviceTaint:
    """Where a module has been sent is what it holds, and what it makes of what it is given; and where the tensors of a
    distribution have been sent is what it draws."""
    if not isinstance(owner, (Instance, LibraryObject)) or promise.device not in _WITH_ITS_OWNER:
        return DeviceTaint.NONE
    made = made_of(owner)
    return max(owner.device_taint, max_device_taint(made)) if made else owner.device_taint


def made_of(owner: Value | None) -> tuple[Value, ...]:
    """The tensors of a distribution, of which its own are made: `Normal(net(x), 1.0).mean`."""
    if not isinstance(owner, LibraryObject) or not owner.name.startswith("torch.distributions."):
        return ()
    return () if owner.arguments is None else owner.arguments.values()


def of_one_parameter(promise: Promise, owner: Value | None) -> Value | None:
    """A distribution, with what is known of the parameter alone that what is promised is made of."""
    if not isinstance(owner, LibraryObject) or not owner.name.startswith("torch.distributions."):
        return owner
    given = _parameter_of(owner, promise.name.rpartition(".")[2])
    return owner if given is None else _made_of_one(owner, given)


def _parameter_of(owner: LibraryObject, attribute: str) -> Value | None:
    parameters, parameter_of = _OF_ONE_PARAMETER.get(owner.name.rpartition(".")[2], ((), {}))
    parameter = parameter_of.get(attribute)
    if parameter is None or owner.arguments is None:
        return None
    given = [owner.arguments.get(place, name) for place, name in enumerate(parameters)]
    return None if any(each is None for each in given) else given[parameters.index(parameter)]


def _made_of_one(owner: LibraryObject, given: Value) -> LibraryObject:
    """`Normal(net(x), 1.0).stddev` is made of a number, and so is where the other parameter is."""
    if isinstance(given, Tensor):
        return owner._replace(
            on_cpu=given.on_cpu,
            requires_grad=given.requires_grad,
            arguments=Arguments((given,)),
            evidence=frozenset(each for each in owner.evidence if each.about == "kind") | given.evidence,
            device_taint=given.device_taint,
        )
    return owner._replace(
        requires_grad=tensor_facts(given)[1],
        arguments=Arguments((given,)),
        evidence=frozenset(each for each in owner.evidence if each.about != "grad") | only(evidence_in(given), "grad"),
        device_taint=max(owner.device_taint, max_device_taint(made_of(owner))),
    )
