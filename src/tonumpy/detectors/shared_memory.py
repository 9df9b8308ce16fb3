"""Finds calls other than `.numpy()` that make an array and a tensor share memory which is then written and read."""

from __future__ import annotations

import ast

from tonumpy.conversions import SharedMemory
from tonumpy.detectors.arguments import Facts, facts_of, made_of, spelt
from tonumpy.detectors.memory import Sharing
from tonumpy.detectors.registry import Search
from tonumpy.detectors.shared_calls import OF_ARRAYS_ALONE, copies_in, side_of
from tonumpy.engine.knowledge.arrays import dimensions_of
from tonumpy.engine.knowledge.chains import chain_of
from tonumpy.engine.summaries.driver import Observations, observe
from tonumpy.engine.values.value_facts import may_be
from tonumpy.engine.values.values import Symbol, Tensor, Value
from tonumpy.text.candidates import Site
from tonumpy.text.names import last_name

KIND = "memory"

# The facts of a tensor that torch makes of an array.
_MADE = Facts("tensor", True, False, False, is_sole=True)


def find(search: Search) -> list[SharedMemory]:
    """The calls that surely share memory, with a write on one side and a read on the other, in the order of the
    sites."""
    if not search.sharers:
        return []
    module, sites, sharing = search.module, search.sharers, search.sharing
    written = [site for site in sites if site.call in sharing.of_tensors or site.call in sharing.of_arrays]
    methods = [site._replace(call=call) for site in written for call in _methods(site)[-1:]]
    observed = observe(module, [*written, *methods]) if written else {}
    found = []
    for site in written:
        conversion = _conversion(site, observed, sharing)
        if conversion is not None:
            found.append(conversion)
    return found


def _methods(site: Site) -> list[ast.Call]:
    """The method calls in the converted expression, outermost last: its observation includes the others' values."""
    return [link.node for link in chain_of(site.call.args[0]).links if isinstance(link.node, ast.Call)]


def _conversion(site: Site, observed: Observations, sharing: Sharing) -> SharedMemory | None:
    """The conversion of a call; None if it calls another function, or may not share its argument's memory."""
    call, seen = site.call, observed.get(id(site.call))
    side = side_of(call)
    if seen is None or not _is_of(seen.receiver, "torch" if side == "tensor" else "numpy"):
        return None
    given, facts = seen.arguments.positional[0], _MADE
    if side == "tensor":
        takes_lists = last_name(call.func) not in OF_ARRAYS_ALONE
        if may_be(given, Tensor) or (takes_lists and dimensions_of(given) is None):
            return None
    else:
        known, methods = facts_of(given), _methods(site)
        links = observed[id(methods[-1])].links if methods and id(methods[-1]) in observed else ()
        if known is None or known.on_cpu is False or copies_in(chain_of(call.args[0]), call.args[0], dict(links)):
            return None
        facts = known
    written = {"tensor_written": sharing.of_tensors.get(call), "array_written": sharing.of_arrays.get(call)}
    return made_of(SharedMemory, site, spelt(call.func), call, facts, seen, given, makes=side, **written)


def _is_of(function: Value, library: str) -> bool:
    return isinstance(function, Symbol) and function.name.partition(".")[0] == library
