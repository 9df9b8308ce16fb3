"""The conversions by stores into library objects: `table["x"] = t`, `file["a"][...] = t`.
The effect is in the library's table, as `__setitem__`. A column of pandas takes a tensor, and raises where NumPy does,
measured by hand with pandas 2.3, 3.0 and 3.1; with numbers and slices as keys it differs.
"""

from __future__ import annotations

import ast

from tonumpy.conversions import ArgumentConversion
from tonumpy.detectors.arguments import as_refused, facts_of, made_by, refused, spelt
from tonumpy.detectors.consumers import EVERY, Refusal, consumer_of
from tonumpy.detectors.mixtures import takes_array
from tonumpy.detectors.possible_tensors import PossibleTensors
from tonumpy.detectors.registry import Search
from tonumpy.detectors.shapes import may_be_a_tensor
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import Tensor, Value, is_text
from tonumpy.text import candidates
from tonumpy.text.candidates import OperationSite
from tonumpy.text.source import Source

KIND = "arguments"

# Libraries with such rows; files that name none of them are skipped.
LIBRARIES = ("h5py", "pandas", "netCDF4", "netcdf_file", "zarr", "xarray", "pyvista", "laspy")
_INDEXERS = frozenset(("pandas.loc", "pandas.iloc", "pandas.at", "pandas.iat"))


def find_stores(source: Source, risks: PossibleTensors) -> list[OperationSite]:
    """The assignments that may store a tensor into an object."""
    if not any(library in source.text for library in LIBRARIES):
        return []
    rows = sorted({each.lineno for each in risks.nodes.of(ast.Subscript) if isinstance(each.ctx, ast.Store)})
    sites = candidates.find_operations(source, rows, (ast.Subscript,), lambda node: isinstance(node.ctx, ast.Store))
    given = ((site, _given(site)) for site in sites)
    return [
        site
        for site, node in given
        if node is not None and may_be_a_tensor(node, {}) and risks.reaches(node, site.scopes, at_risk=False)
    ]


def _given(site: OperationSite) -> ast.expr | None:
    statement = site.statement
    return statement.value if isinstance(statement, ast.Assign) and statement.targets == [site.node] else None


def find(search: Search) -> list[ArgumentConversion]:
    """The conversions at risk, with or without habits, in the order of the sites."""
    module = search.module
    if not (sites := find_stores(module.source, search.risks)):
        return []
    observed = observe(module, sites)
    seen = ((site, observed.get(id(site.node))) for site in sites)
    judged = (_judged(site, each) for site, each in seen if each is not None)
    return [each for each in judged if each is not None]


def _judged(site: OperationSite, seen: Observation) -> ArgumentConversion | None:
    node, given = _given(site), seen.arguments.positional
    refusal = _refusal_under(seen.receiver, given[0]) if len(given) == 2 else None
    facts = None if refusal is None else as_refused(facts_of(given[-1]), refusal)
    if node is None or refusal is None or facts is None or (refusal is EVERY and _is_number(given[-1])):
        return None  # pandas keeps a tensor without dimensions as a column's object, on any device (TNP206)
    found = refused(site, f"{spelt(site.node)} = ...", node, given[-1], facts, refusal, seen)
    return found if found.never or found.risks or found.without_habits().risks else None


def _is_number(value: Value) -> bool:
    return any(isinstance(each, Tensor) and each.is_number for each in members(value))


def _refusal_under(receiver: Value, key: Value) -> Refusal | None:
    """The refusal of an object for a value stored under a key; None if it refuses nothing."""
    for name in filter(None, map(made_by, members(receiver))):
        if name.partition(".")[0] == "pandas" and name not in _INDEXERS:
            return EVERY if is_text(key) else None
        if name.startswith("scipy.") and not takes_array(key):
            return None  # a variable of netCDF is an array of NumPy there
        consumer = consumer_of(name, "__setitem__")
        for parameter in () if consumer is None else consumer.parameters:
            if parameter.position == 1 and "tensor" in parameter.takes:
                return parameter.takes["tensor"]
    return None
