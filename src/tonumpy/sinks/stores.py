"""From assignments into tables and files, `table["x"] = t` or `file["a"][...] = t`, to the conversions they make.

What the objects of a library do is in its table, as `__setitem__`. A column of pandas takes a tensor, and raises where
NumPy does, which was measured by hand with pandas 2.3, 3.0 and 3.1: what a number or a slice stands for differs.
"""

from __future__ import annotations

import ast
import re

from tonumpy.inference.lattice.values import evidence_in, is_text, members
from tonumpy.inference.summaries.budget import MAX_STATEMENTS_OF_SINKS
from tonumpy.inference.summaries.driver import observe
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.arguments import as_refused, facts_of, made_by, made_of, spelt
from tonumpy.sinks.consumers import EVERY, consumer_of
from tonumpy.sinks.mixtures import takes_array
from tonumpy.sinks.risk_flow import ANY, TENSOR
from tonumpy.sinks.shapes import may_be_a_tensor
from tonumpy.text import candidates

if TYPE_CHECKING:
    from collections.abc import Sequence as Items

    from tonumpy.conversions import ImplicitConversion
    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.values import Value
    from tonumpy.inference.summaries.driver import Observations
    from tonumpy.sinks.consumers import Refusal
    from tonumpy.sinks.risk_flow import RiskFlow
    from tonumpy.text.candidates import OperationSite
    from tonumpy.text.source import Source

LIBRARIES = ("h5py", "pandas", "netCDF4", "netcdf_file", "zarr", "xarray", "pyvista", "laspy")
_INDEXERS = frozenset(("pandas.loc", "pandas.iloc", "pandas.at", "pandas.iat"))
_STORE = re.compile(r"\][ \t]*=(?!=)")


def find_stores(source: Source, risks: RiskFlow) -> list[OperationSite]:
    """The assignments that may put a tensor into a table or file, if a risk reaches it or every one is refused."""
    if not any(library in source.text for library in LIBRARIES):
        return []
    rows = sorted({source.position_at(match.start()).row for match in _STORE.finditer(source.text)})
    return [
        site
        for site in candidates.find_operations(source, rows, (ast.Subscript,), _is_stored)
        if isinstance(site.statement, ast.Assign)
        and site.statement.targets == [site.node]
        and may_be_a_tensor(site.statement.value, {})
        and risks.reaches(site.statement.value, site.scopes, ANY | TENSOR)
    ]


def infer_stores(module: Module, sites: Items[OperationSite]) -> list[ImplicitConversion]:
    """The conversions that are at risk, if only without habits, in the order of the sites."""
    observed = observe(module, sites, MAX_STATEMENTS_OF_SINKS)
    judged = (_judged(site, observed) for site in sites)
    return [each for each in judged if each is not None]


def _judged(site: OperationSite, observed: Observations) -> ImplicitConversion | None:
    seen = observed.get(id(site.node))
    if seen is None or not isinstance(site.statement, ast.Assign) or len(seen.arguments.positional) != 2:
        return None
    key, value = seen.arguments.positional
    refusal = _refusal_of(seen.receiver, key)
    facts = None if refusal is None else as_refused(facts_of(value), refusal)
    if refusal is None or facts is None:
        return None
    function = f"{spelt(site.node)} = ..."
    found = made_of(site, function, site.statement.value, facts, seen, evidence_in(value))
    found = found._replace(keeps_value=facts.is_sole and not refusal.error, never=refusal.error)
    return found if found.never or found.risks or found.without_habits().risks else None


def _refusal_of(receiver: Value, key: Value) -> Refusal | None:
    """What an object refuses that is put into it under a key."""
    for name in filter(None, map(made_by, members(receiver))):
        if name.partition(".")[0] == "pandas" and name not in _INDEXERS:
            return EVERY if is_text(key) else None
        if name.startswith("scipy.") and not takes_array(0, key):
            return None  # a variable of netCDF is an array of NumPy there
        consumer = consumer_of(name, "__setitem__")
        for parameter in () if consumer is None else consumer.parameters:
            if parameter.position == 1 and "tensor" in parameter.takes:
                return parameter.takes["tensor"]
    return None


def _is_stored(node: ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Store)
