"""The implicit conversions of arguments by sinks, for values that are at least likely tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from tonumpy.conversions import ArgumentConversion, Container, ImplicitConversion
from tonumpy.detectors.consumers import EVERY, Argument, Consumer, Refusal, consumer_of, converting_arguments
from tonumpy.detectors.lost_gradients import used_by_torch
from tonumpy.detectors.objectives import find_given
from tonumpy.detectors.own import OwnSinks
from tonumpy.detectors.registry import Search
from tonumpy.engine.interpreter.devices import as_tensor
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.knowledge.callbacks import caller_of, named
from tonumpy.engine.knowledge.chains import Chain, chain_of
from tonumpy.engine.names.bindings import imports_among
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.driver import Observations, observe
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import item_handed_on
from tonumpy.engine.values.value_facts import evidence_in, have_param_taint, members
from tonumpy.facts import Certainty, Fact
from tonumpy.text.candidates import OperationSite, ReturnSite, Scope, Site, handed_over
from tonumpy.text.names import path_of
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import statements_of

KIND = "arguments"

_Made = TypeVar("_Made", bound=ImplicitConversion)

# An argument: the expression, its value or, for a list or dict that is not written out, the value of its items.
Given = tuple[ast.expr, v.Value, "Container | None", Refusal]


class Facts(NamedTuple):
    """The facts about one tensor."""

    certainty: Certainty
    on_cpu: Fact
    is_sent: bool
    requires_grad: Fact
    dtype: str | None = None
    layout: str | None = None
    bit: str | None = None
    is_sole: bool = False  # it is a tensor on every path
    param_taint: bool = False


def find(search: Search) -> list[ArgumentConversion]:
    """The conversions at risk, with or without habits; one per call, in the order of the sites."""
    module = search.module
    if not (sites := find_given(module, search.risks)):
        return []
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code

    own = OwnSinks(module) if module.sinks else None
    observed = observe(module, sites)
    return _found(module, sites, observed, own)


def _found(
    module: Module, sites: Sequence[Site | ReturnSite], observed: Observations, own: OwnSinks | None
) -> list[ArgumentConversion]:
    found = []
    for site in sites:
        risky = at_risk(site, observed, own)
        if risky:
            first, *others = risky
            others = [each for each in others if each.argument is not first.argument]  # values of one dict
            used = None if isinstance(site, ReturnSite) else used_by_torch(module, site.call, site.scopes)
            keeps_value = all(each.keeps_value for each in (first, *others))
            found.append(replace(first, others=tuple(others), keeps_value=keeps_value, back_in_torch=used))
    return found


def at_risk(site: Site | ReturnSite, observed: Observations, own: OwnSinks | None) -> list[ArgumentConversion]:
    """The arguments at risk that a call converts; else those at risk without habits."""
    seen = observed.get(id(site.call))
    conversions = [] if seen is None else list(_conversions(site, seen, own))
    risky = [each for each in conversions if each.never or each.risks]
    return risky or [each for each in conversions if each.without_habits().risks]


def _conversions(site: Site | ReturnSite, seen: Observation, own: OwnSinks | None) -> Iterator[ArgumentConversion]:
    if isinstance(site, ReturnSite):
        yield from _given_back(site, seen)
        return
    consumer, converted = converted_at(site, seen, own)
    function = handed_over(site.call) or site.call.func
    converted = list(converted)
    for given in converted:
        found = conversion_of(site, function, given, seen)
        if found is not None and consumer is not None:
            keeps_value = all(each is given or _may_keep_value(each) for each in converted)
            yield replace(found, keeps_value=found.keeps_value and keeps_value)


def _may_keep_value(given: Given) -> bool:
    """True if an argument beside the converted one keeps the result: it is no tensor, or tensors give what arrays
    give."""
    _, value, _, refusal = given
    return refusal.keeps_value or not any(isinstance(each, (v.Tensor, v.Unknown)) for each in members(value))


def converted_at(site: Site, seen: Observation, own: OwnSinks | None) -> tuple[Consumer | None, Iterable[Given]]:
    """The called function, if it is known to convert, and its arguments that it would convert."""
    if handed_over(site.call) is not None:
        consumer = _consumer_handed_over(seen.arguments)
        return consumer, () if consumer is None else _handed_on(site.call, consumer, seen.arguments)
    consumer = _consumer(site, seen.receiver)
    consumer = own.consumer(site.call) if consumer is None and own is not None else consumer
    return consumer, () if consumer is None else _given(site.call, consumer, seen.arguments)


def conversion_of(site: Site, function: ast.expr, given: Given, seen: Observation) -> ArgumentConversion | None:
    """The conversion of one argument; None if it is no known tensor. It `keeps_value` only if the argument is a tensor
    on every path."""
    node, value, of_items, refusal = given
    facts = as_refused(facts_of(value), refusal)
    if facts is None:
        return None
    found = replace(refused(site, spelt(function), node, value, facts, refusal, seen), of_items=of_items)
    is_list = of_items and isinstance(node, ast.Attribute)  # `meter.data`, a list that is no tensor's
    return replace(found, chain=Chain(())) if is_list else found


def refused(
    site: Site | OperationSite,
    function: str,
    node: ast.expr,
    value: v.Value,
    facts: Facts,
    refusal: Refusal,
    seen: Observation,
) -> ArgumentConversion:
    """The conversion of one tensor by a function or operator with this refusal."""
    return made_of(
        ArgumentConversion,
        site,
        function,
        node,
        facts,
        seen,
        value,
        keeps_value=facts.is_sole and refusal.keeps_value and not refusal.error,
        never=refusal.error,
        takes_arrays=refusal.takes_arrays,
        later=refusal.later,
        errors=refusal.errors,
        words=refusal.words,
    )


def _given_back(site: ReturnSite, seen: Observation) -> Iterator[ArgumentConversion]:
    """The conversions of results that a function returns to the library that calls it; other code may call it too."""
    caller = caller_of(site.called_by)
    assert site.call.value is not None
    assert caller is not None
    result = Argument(site.call.value, None, None, {"tensor": EVERY, "items": EVERY})
    for node, value, of_items, _ in tensors_in(result, seen.receiver):
        facts = facts_of(value)
        if facts is not None:
            function, more = named(site.called_by), {"of_items": of_items, "errors": caller.errors}
            yield made_of(ArgumentConversion, site, function, node, facts, seen, value, **more)


def _given(call: ast.Call, consumer: Consumer, arguments: v.Arguments) -> Iterator[Given]:
    for argument in converting_arguments(call, consumer):
        yield from tensors_in(argument, value_given(arguments, argument))


def _handed_on(call: ast.Call, consumer: Consumer, arguments: v.Arguments) -> Iterator[Given]:
    """The arguments that `map(np.asarray, xs)` converts: each item, or its items."""
    for position, (node, value) in enumerate(zip(call.args[1:], arguments.positional[1:], strict=False)):
        item = item_handed_on(value)
        for parameter in consumer.parameters:
            if parameter.position in (position, -1):
                if isinstance(item, v.Sequence) and "items" in parameter.takes:
                    yield node, item.element, "list", parameter.takes["items"]
                elif not isinstance(item, (v.Sequence, v.Mapping)) and "tensor" in parameter.takes:
                    yield node, item, "list", parameter.takes["tensor"]


def _consumer_handed_over(arguments: v.Arguments) -> Consumer | None:
    first = arguments.positional[0] if arguments.positional else None
    library, _, name = first.name.rpartition(".") if isinstance(first, v.Symbol) else ("", "", "")
    return consumer_of(library, name)


def made_of(
    cls: Callable[..., _Made],
    site: Site | ReturnSite | OperationSite,
    function: str,
    node: ast.expr,
    facts: Facts,
    seen: Observation,
    value: v.Value,
    **more: object,
) -> _Made:
    """The conversion of one tensor, as an object of `cls`; `more` are the further fields of that class."""
    return cls(
        site=site,
        function=function,
        argument=node,
        chain=chain_of(node),
        certainty=facts.certainty,
        on_cpu=facts.on_cpu,
        is_sent=facts.is_sent,
        requires_grad=facts.requires_grad,
        grad_mode=seen.grad_mode,
        dtype=facts.dtype,
        layout=facts.layout,
        bit=facts.bit,
        param_taint=facts.param_taint,
        evidence=evidence_in(value) | seen.evidence,
        **more,
    )


def spelt(function: ast.expr | ast.AugAssign) -> str:
    """The function of a call as it is written."""
    try:
        return ast.unparse(function)
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return function.attr if isinstance(function, ast.Attribute) else "a function"


def consumer_at(site: Site, seen: Observation) -> Consumer | None:
    """The called function, if it is known to convert its arguments."""
    return _consumer(site, seen.receiver)


def _consumer(site: Site, receiver: v.Value) -> Consumer | None:
    """The called function by its receiver: `numpy` and `asarray` give numpy.asarray, the result of `plt.subplots()` and
    `plot` give Axes.plot."""
    call = site.call
    if isinstance(receiver, v.OtherFramework):  # its values are no tensors, but it converts tensors
        library, _, name = _imported_name(call.func, site.scopes).rpartition(".")
        found = consumer_of(library, name) if library.partition(".")[0] == receiver.root else None
        if found is None and isinstance(call.func, ast.Attribute):
            return consumer_of(f"{receiver.root}.", call.func.attr)  # a method of its object
        return found
    if not isinstance(call.func, ast.Attribute):
        if isinstance(receiver, v.LibraryObject):
            return consumer_of(made, "__call__") if (made := made_by(receiver)) else None
        library, _, name = receiver.name.rpartition(".") if isinstance(receiver, v.Symbol) else ("", "", "")
        return consumer_of(library, name)
    if isinstance(receiver, v.Symbol):
        return consumer_of(receiver.name, call.func.attr)
    for each in members(receiver):  # `ax = ax or plt.gca()`: the unknown member has this method too
        name = made_by(each)
        found = consumer_of(name, call.func.attr) if name else None
        if found is not None:
            return found
    return None


def _imported_name(node: ast.expr, scopes: tuple[Scope, ...]) -> str:
    """The full name of an imported function, `jax.numpy.sin` for `jnp.sin`, by the imports in the enclosing scopes;
    else ""."""
    root, dot, rest = (path_of(node) or "").partition(".")
    for scope in reversed(scopes):
        for name, imported in imports_among(statements_of(scope.body)):
            if name == root and not imported.level:
                return imported.full_name + dot + rest
    return ""


def made_by(value: v.Value) -> str:
    """The full name of the function or class that made an object; "" if no table has it."""
    if isinstance(value, v.NonTensor):
        return value.what
    name = value.name if isinstance(value, v.LibraryObject) else ""
    return name if name.partition(".")[0] in CONSUMERS else ""


def value_given(arguments: v.Arguments, argument: Argument) -> v.Value | None:
    """The value of an argument."""
    if argument.name is not None:
        return arguments.named_value(argument.name)
    assert argument.position is not None
    return arguments.positional[argument.position] if argument.position < len(arguments.positional) else None


def tensors_in(argument: Argument, value: v.Value | None) -> Iterator[Given]:
    """The converted expressions with their values; for a list that is not written out, the expression of the list."""
    node = argument.node
    if value is None:
        return
    if isinstance(value, v.Mapping):
        if "values" in argument.takes:
            yield from _in_dict(node, value, argument.takes["values"])
        return
    if not isinstance(value, v.Sequence):
        if "tensor" in argument.takes:
            yield node, value, None, argument.takes["tensor"]
        return
    yield from _in_records(node, value, argument.takes)
    if "items" not in argument.takes:
        return
    refusal = argument.takes["items"]
    if isinstance(node, (ast.List, ast.Tuple)) and value.items is not None and len(value.items) == len(node.elts):
        for part, item in zip(node.elts, value.items, strict=True):
            yield part, item, None, refusal
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        yield node.elt, value.element, None, refusal
    else:
        yield node, value.element, "list", refusal


def _in_records(node: ast.expr, value: v.Sequence, takes: Mapping[str, Refusal]) -> Iterator[Given]:
    """Yield the values in the dicts of a list, under every key or one key; a value that is a list yields its items."""
    for way, refusal in takes.items():
        kind, _, key = way.partition(".")
        if kind != "records":
            continue
        if isinstance(node, (ast.List, ast.Tuple)) and value.items is not None and len(value.items) == len(node.elts):
            pairs = list(zip(node.elts, value.items, strict=True))
        else:
            pairs = [(node.elt if isinstance(node, (ast.ListComp, ast.GeneratorExp)) else node, value.element)]
        for part, each in pairs:
            if isinstance(each, v.Mapping):
                yield from _in_dict(part, each, refusal, key)


def _in_dict(node: ast.expr, value: v.Mapping, refusal: Refusal, wanted: str = "") -> Iterator[Given]:
    """Yield the values of a dict; only that under `wanted` if it is given."""
    if isinstance(node, ast.Dict):
        for key, part in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and wanted in ("", key.value):
                held = value.get(key.value)
                if wanted and isinstance(held, v.Sequence):
                    yield part, held.element, "list", refusal
                else:
                    yield part, held, None, refusal
    elif isinstance(node, ast.DictComp):
        yield node.value, value.other, None, refusal
    else:
        for each in [value.get(wanted)] if wanted else value.values():
            yield node, each.element if isinstance(each, v.Sequence) else each, "dict", refusal


def as_refused(facts: Facts | None, refusal: Refusal) -> Facts | None:
    """The facts of a tensor that the function depends on; None if it refuses every tensor and this may be none."""
    if facts is None or refusal is EVERY or len(refusal.sorts) == len(EVERY.sorts):
        return facts
    if refusal.error:
        return facts if facts.certainty == "tensor" and facts.is_sole else None
    if "g" not in refusal.sorts:
        facts = facts._replace(requires_grad=False, param_taint=False)
    if "d" not in refusal.sorts:
        facts = facts._replace(on_cpu=True, is_sent=False)
    if "b" not in refusal.sorts:
        facts = facts._replace(dtype=None)
    return facts if "s" in refusal.sorts else facts._replace(layout=None)


def facts_of(value: v.Value) -> Facts | None:
    """The facts of a value that is a tensor on all relevant paths; else None.
    Numbers among its members do not count: a sum may start with one. Nor does an unknown member beside a moved tensor:
    it is the tensor before the move, as in `if use_cuda: x = x.cuda()`. An unknown value that was moved, or comes from
    a model, counts as a tensor.
    """
    value = _read_as_tensor(value)
    tensors = [member for member in members(value) if isinstance(member, v.Tensor)]
    if len(tensors) != 1:
        return None
    (tensor,) = tensors
    learns, is_sent = have_param_taint(tensors), bool(tensor.device_taint)
    others = [each for each in members(value) if not isinstance(each, v.Tensor) and not v.is_number(each)]
    if learns or is_sent:
        others = [each for each in others if each != v.NONE]  # the initial value, until a hook stores one
        if others and all(map(_may_be_tensor, others)):
            return Facts("likely", None, is_sent, None, param_taint=learns)
    if others:
        return None
    facts = Facts(tensor.certainty, tensor.on_cpu, is_sent, tensor.requires_grad, param_taint=learns)
    is_sole = isinstance(value, v.Tensor)
    return facts._replace(dtype=tensor.dtype, layout=tensor.layout, bit=tensor.bit, is_sole=is_sole)


def _may_be_tensor(value: v.Value) -> bool:
    return isinstance(value, v.Unknown) and not value.is_no_tensor


def _read_as_tensor(value: v.Value) -> v.Value:
    if not isinstance(value, v.Unknown) or value.is_no_tensor:
        return value
    return as_tensor(value) if value.device_taint or value.param_taint else value
