"""From calls other than `.numpy()` to those after which an array and a tensor share memory that is written and read."""

from __future__ import annotations

import ast
from collections.abc import Sequence as Items

from tonumpy.conversions import ImplicitConversion
from tonumpy.detectors.flow import sharing_of
from tonumpy.detectors.memory import Sharing
from tonumpy.detectors.shared_calls import OF_ARRAYS_ALONE, converted_by, copies_in, find_sharers, side_of
from tonumpy.engine.knowledge.arrays import dimensions_of
from tonumpy.engine.knowledge.chains import chain_of
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.driver import Observations, observe
from tonumpy.engine.values.value_facts import evidence_in, may_be
from tonumpy.engine.values.values import Symbol, Tensor, Value
from tonumpy.sinks.arguments import Facts, facts_of, made_of, spelt
from tonumpy.text.candidates import Site
from tonumpy.text.names import last_name

# What torch makes of an array.
_MADE = Facts("tensor", True, False, False, None, None, None, True, False)


def sharers_in(module: Module) -> list[Site]:
    """Return what torch makes of arrays, and what NumPy makes of tensors.

    NumPy is mostly given arrays and lists. So that is asked about last, where something is written.
    """
    sites = find_sharers(module.source)
    of_numpy = [site for site in sites if side_of(site.call) == "array"]
    if not of_numpy:
        return sites
    shown = {id(each.site) for each in infer_sharers(module, of_numpy, sharing_of(module.source, (), of_numpy))}
    return [site for site in sites if side_of(site.call) == "tensor" or id(site) in shown]


def infer_sharers(module: Module, sites: Items[Site], sharing: Sharing) -> list[ImplicitConversion]:
    """Return those that surely share memory that is written on one side and read on the other, in the order of the
    sites."""
    written = [site for site in sites if site.call in sharing.of_tensors or site.call in sharing.of_arrays]
    observed = _observed(module, written)
    found = []
    for site in written:
        conversion = _conversion(site, observed)
        if conversion is not None:
            tensor_written, array_written = sharing.of_tensors.get(site.call), sharing.of_arrays.get(site.call)
            found.append(conversion._replace(tensor_written=tensor_written, array_written=array_written))
    return found


def _observed(module: Module, sites: Items[Site]) -> Observations:
    """Return what the calls are given, and what each method in what they are given is called on."""
    links = [site._replace(call=node) for site in sites for node in _methods(site)]
    return observe(module, [*sites, *links]) if sites else {}


def _methods(site: Site) -> list[ast.Call]:
    return [link.node for link in chain_of(converted_by(site.call)).links if isinstance(link.node, ast.Call)]


def _conversion(site: Site, observed: Observations) -> ImplicitConversion | None:
    """None where it is another function, or may not share what it is given."""
    call, seen = site.call, observed.get(id(site.call))
    if seen is None:
        return None
    side, is_method = side_of(call), not call.args
    if not is_method and not _is_of(seen.receiver, "torch" if side == "tensor" else "numpy"):
        return None
    given = seen.receiver if is_method else seen.arguments.positional[0]
    if side == "tensor":
        takes_lists = last_name(call.func) not in OF_ARRAYS_ALONE
        if may_be(given, Tensor) or (takes_lists and dimensions_of(given) is None):
            return None
        facts = _MADE
    else:
        chain = chain_of(converted_by(call))
        bases = {id(link.node): id(link.base) for link in chain.links}
        values = {bases[key]: each.receiver for key, each in observed.items() if key in bases}
        known = facts_of(given)
        if known is None or known.on_cpu is False or copies_in(chain, converted_by(call), values):
            return None
        facts = known
    return made_of(site, spelt(call.func), call, facts, seen, evidence_in(given))._replace(makes=side)


def _is_of(function: Value, library: str) -> bool:
    return isinstance(function, Symbol) and function.name.partition(".")[0] == library
