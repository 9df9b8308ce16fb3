"""Makes conversions for the rules from the sightings of a run, with the observed facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from tonumpy.conversions import ArgumentConversion, Conversion, MethodConversion
from tonumpy.detectors.arguments import consumer_at, spelt
from tonumpy.detectors.consumers import converting_arguments
from tonumpy.detectors.lost_gradients import loses_gradient
from tonumpy.engine.knowledge.chains import chain_of
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.torch_transforms import transformed_around
from tonumpy.engine.summaries.driver import observe
from tonumpy.findings import Observed, Position
from tonumpy.observed.given import given_in, is_known, mixed_in
from tonumpy.observed.sighting import OF_DEVICES, Sighting, Sites, Spot, What
from tonumpy.repair.operations import AddCopy, Operation
from tonumpy.text.candidates import Candidate, OperationSite, Site, call_span
from tonumpy.text.names import quoted
from tonumpy.text.source import Source

_REASONS = {
    "grad": "requires grad",
    "device": "is not on the CPU",
    "dtype": "has a dtype that NumPy lacks",
    "layout": "has a layout that NumPy lacks",
    "bit": "has its conjugate or negative bit set",
    "mixed": "is not on the CPU",
}


class Seen(NamedTuple):
    """A sighting as a `conversion` for the rules, if there is one, and the finding to report if no rule finds one.

    `is_sure`: the conversion's expression is the tensor itself, not a container of it, which no repair fits.

    `is_ruled`: the rules judge it; else `code`, `message` and `operations` are the finding.
    """

    conversion: Conversion | None
    is_ruled: bool
    code: str
    message: str
    operations: tuple[Operation, ...]
    span: tuple[Position, Position]
    observed: Observed
    is_sure: bool = True

    @property
    def doubt(self) -> str:
        """The suffix of the message that says why there is no repair, if it is not sure."""
        if not isinstance(self.conversion, ArgumentConversion) or self.conversion.of_items:
            return ""
        told = quoted(self.conversion.argument) or "its argument"
        return f"; no fix, as the run has not shown whether {told} is the tensor or holds it"


def seen_in(module: Module, sightings: Iterable[Sighting]) -> list[Seen]:
    """The faults among the sightings in a module, in their order."""
    sites = Sites(module.source)
    return [_seen(module, sites, each) for each in sightings if each.is_fault]


# The rule and the message for sightings that are no conversions, or later consequences of one.
_MESSAGES: dict[What, tuple[str, str]] = {
    "shared write": (
        "TNP201",
        "the array shares memory with its tensor, and one of them was written while the other was still in use",
    ),
    "lost gradient": (
        "TNP203",
        "the gradient ends at this conversion: the run trained on a loss made of its result alone",
    ),
    "unfinished copy": (
        "TNP204",
        "this reads what an asynchronous copy{about} gives, and nothing waited for that: the data may be wrong",
    ),
    "no mask": ("TNP205", "{about}"),
    "taken for values": ("TNP206", "{about}"),
    "mixed devices": ("TNP109", "tensors of two devices meet: {about}: raises {error}"),
}


def _seen(module: Module, sites: Sites, sighting: Sighting) -> Seen:
    is_conversion = sighting.what not in OF_DEVICES
    candidate = sites.candidate(sighting.spot) if is_conversion and sighting.is_method else None
    conversion = None if candidate is None else conversion_at(module, candidate, sighting)
    span = _span(module.source, sighting.spot) if candidate is None else call_span(candidate, module.source)
    if sighting.what != "conversion":
        code, words = _MESSAGES[sighting.what]
        message = words.format(about=sighting.about, error=_error(sighting))
        is_copied = sighting.what == "shared write"
        operations = (AddCopy(candidate.call, "copy"),) if candidate is not None and is_copied else ()
        return Seen(conversion, False, code, message, operations, span, sighting.observed)
    if candidate is not None:
        message = f"`.numpy()` on a tensor that {_words(sighting)}: raises {_error(sighting)}"
        return Seen(conversion, True, "TNP101", message, (), span, sighting.observed)
    site = sites.operation(sighting.spot)
    if sighting.is_method:  # without the name `numpy` in the source: `getattr(x, name)()`, `methodcaller("numpy")`
        message = f"this line calls `.numpy()` on a tensor that {_words(sighting)}: raises {_error(sighting)}"
        return Seen(None, False, "TNP101", message, (), span, sighting.observed)
    found = [] if site is None else list(_implicit(module, site, sighting))
    if found:
        first, *others = (conversion for conversion, _ in found)
        first = replace(first, others=tuple(others), keeps_value=all(each.keeps_value for each, _ in found))
        is_sure = all(is_sure for _, is_sure in found)
        return Seen(first, True, _code(site), "", (), span, sighting.observed, is_sure)
    return Seen(None, False, _code(site), _message(site, sighting), (), span, sighting.observed)


def conversion_at(module: Module, candidate: Candidate, sighting: Sighting) -> MethodConversion:
    is_transformed = sighting.has("grad")
    return MethodConversion(
        site=candidate,
        chain=chain_of(candidate.receiver),
        trained_in=loses_gradient(module, candidate),
        transformed=transformed_around(module.source, candidate.scopes, candidate.call) if is_transformed else None,
        **sighting.facts,
    )


def _implicit(
    module: Module, site: Site | OperationSite, sighting: Sighting
) -> Iterator[tuple[ArgumentConversion, bool]]:
    """Yield a conversion for each argument that passed a converted tensor, and whether it is the tensor itself."""
    if isinstance(site, OperationSite):
        mixed = _mixture(module, site, sighting)
        if mixed is not None:
            yield mixed, True
        return
    observation = observe(module, [site]).get(id(site.call))
    consumer = consumer_at(site, observation) if observation is not None else None
    nodes: set[int] = set()
    for held in sighting.held or ((),):
        for given in given_in(site.call, held, consumer, observation):
            if id(given.node) in nodes:
                continue
            nodes.add(id(given.node))
            converting = () if consumer is None else converting_arguments(site.call, consumer)
            keeps_value = consumer is not None and all(each.keeps_value for each in converting)
            keeps_value = keeps_value and is_known(site.call, given.node, observation)
            found = _implicitly(site, given.node, sighting)
            yield replace(found, of_items=given.of_items, keeps_value=keeps_value), given.is_sure


def _mixture(module: Module, site: OperationSite, sighting: Sighting) -> ArgumentConversion | None:
    mixed = mixed_in(site, sighting, observe(module, [site]).get(id(site.node)))
    callers = sighting.observed.stack
    if mixed is None or mixed.kind != "put into array" or not callers or callers[0].row == sighting.spot.row:
        return mixed
    # The target is not an array but a library's object, whose `__setitem__` converts.
    found = _implicitly(site, mixed.argument, sighting)
    return replace(found, function=f"{found.function} = ...", keeps_value=mixed.keeps_value)


def _implicitly(site: Site | OperationSite, node: Any, sighting: Sighting) -> ArgumentConversion:  # noqa: ANN401
    function = _function(site)
    errors = tuple((sort, _error(sighting)) for sort in "gd") if function.endswith("from_dlpack") else ()
    facts = sighting.facts
    return ArgumentConversion(site=site, function=function, argument=node, chain=chain_of(node), errors=errors, **facts)


def _function(site: Site | OperationSite) -> str:
    return spelt(site.node if isinstance(site, OperationSite) else site.call.func)


def _code(site: Site | OperationSite | None) -> str:
    return "TNP108" if isinstance(site, OperationSite) else "TNP104"


def _message(site: Site | OperationSite | None, sighting: Sighting) -> str:
    """The message about a converted tensor whose expression is not known."""
    tensor = f"a tensor that {_words(sighting)}"
    is_refused = bool(sighting.observed.reasons)
    raises = f", so NumPy raises {_error(sighting)}" if is_refused else " only `torch.no_grad()` saves it"
    what = "this line" if site is None else f"`{_function(site)}`"
    return f"{what} converts {tensor}{raises}"


def _error(sighting: Sighting) -> str:
    return sighting.observed.error.partition(":")[0] or "an error"


def _words(sighting: Sighting) -> str:
    words = dict.fromkeys(_REASONS[reason] for reason in sighting.observed.reasons)
    return " and ".join(words) or "requires grad"


def _span(source: Source, spot: Spot) -> tuple[Position, Position]:
    """The span of a spot; if only the row is known, the text in it."""
    if spot.column is None or spot.end_row is None or spot.end_column is None:
        line = source.line(min(spot.row, len(source.line_starts))).rstrip()
        first = len(line) - len(line.lstrip()) + 1
        return Position(spot.row, first), Position(spot.row, len(line) + 1)
    return source.ast_position(spot.row, spot.column), source.ast_position(spot.end_row, spot.end_column)
