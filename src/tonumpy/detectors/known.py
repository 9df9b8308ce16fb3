"""The sinks called in a row, and all arguments that they convert, for `tonumpy why`."""

from __future__ import annotations

import ast
from typing import NamedTuple

from tonumpy.conversions import ArgumentConversion
from tonumpy.detectors.arguments import conversion_of, converted_at, spelt, value_given
from tonumpy.detectors.consumers import Consumer, converting_arguments
from tonumpy.detectors.own import OwnSinks
from tonumpy.detectors.shapes import Names, given_away
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import AllEvidence
from tonumpy.engine.values.value_facts import evidence_in, members
from tonumpy.text.candidates import Site, find_calls, handed_over, is_in_row


class Argued(NamedTuple):
    """An argument of a sink, and the function as it is written; `conversion` if the value counts as a tensor.
    `words` describe its value, resting on `evidence`; `is_converter`: the function is known to convert.
    """

    site: Site
    node: ast.expr
    function: str
    conversion: ArgumentConversion | None
    words: str
    evidence: AllEvidence
    is_converter: bool = True


def sinks_in(module: Module, names: Names, row: int | None = None) -> list[Site]:
    """The calls of sinks that span a row, or all of them, including those that `tonumpy check` skips."""
    own = {id(site.call) for site in OwnSinks(module).sites()} if module.sinks else set[int]()
    rows = [row] if row is not None else list(range(1, len(module.source.line_starts) + 1))
    calls = find_calls(module.source, rows, lambda call: id(call) in own or bool(given_away(call, names)))
    return [site for site in calls if row is None or is_in_row(site.call, row)]


def infer_known(module: Module, sites: list[Site], names: Names) -> list[Argued]:
    """The arguments that the sinks of `sites` convert, in order, each with its description."""
    observed = observe(module, sites)
    own = OwnSinks(module) if module.sinks else None
    found = []
    for site in sites:
        called = handed_over(site.call) or site.call.func
        function = spelt(called)
        seen = observed.get(id(site.call))
        if seen is None:
            for node in _spelt_as_given(site.call, names):
                words = "not followed: the analysis does not reach this call"
                found.append(Argued(site, node, function, None, words, frozenset()))
            continue
        consumer, given = converted_at(site, seen, own)
        if consumer is None:
            words, evidence = f"not known to convert: {told(seen.receiver)}", evidence_in(seen.receiver)
            for node in _spelt_as_given(site.call, names):
                found.append(Argued(site, node, function, None, words, evidence, is_converter=False))
            continue
        converted = [each for each in given if not isinstance(each[1], v.Nothing)] or list(given)
        for item in converted:
            node, value, of_items, _ = item
            conversion = conversion_of(site, called, item, seen)
            words = f"a {of_items} whose items are {told(value)}" if of_items else told(value)
            found.append(Argued(site, node, function, conversion, words, evidence_in(value)))
        if handed_over(site.call) is None:
            found += _others(site, function, consumer, seen, [node for node, *_ in converted])
    return found


def _spelt_as_given(call: ast.Call, names: Names) -> list[ast.expr]:
    """The arguments that a call may convert, without duplicates: several libraries have methods of one name."""
    return list({id(node): node for node, _ in given_away(call, names)}.values())


def _others(site: Site, function: str, consumer: Consumer, seen: Observation, known: list[ast.expr]) -> list[Argued]:
    """The arguments of converting parameters whose values are no tensors."""
    found = []
    for argument in converting_arguments(site.call, consumer):
        value = value_given(seen.arguments, argument)
        if value is not None and not any(node in ast.walk(argument.node) for node in known):
            found.append(Argued(site, argument.node, function, None, told(value), evidence_in(value)))
    return found


def told(value: v.Value) -> str:
    """A description of a value for users."""
    parts = members(value)
    if len(parts) > 1:
        return "one of: " + "; ".join(dict.fromkeys(map(told, parts)))
    if isinstance(value, v.Unknown):
        return f"unknown, {value.reason.value}"
    if isinstance(value, v.Constant):
        return f"`{value.value!r}`" if len(repr(value.value)) < 30 else "a literal"
    if isinstance(value, v.NonTensor):
        return "a NumPy array" if value.dimensions is not None else f"not a tensor ({value.what})"
    if isinstance(value, v.Sequence):
        return f"a list whose items are {told(value.element)}"
    if isinstance(value, v.Instance):
        return f"an object of class `{value.cls.node.name}`"
    if isinstance(value, v.LibraryObject):
        return f"an object of `{value.name}`"
    if isinstance(value, v.OtherFramework):
        return f"a value of {value.root}"
    if isinstance(value, v.Symbol):
        return f"`{value.name}`"
    simple = {v.Mapping: "a dict", v.Function: "a function", v.Nothing: "nothing: no run reaches this"}
    return simple.get(type(value), "a tensor" if isinstance(value, v.Tensor) else "not a tensor")
