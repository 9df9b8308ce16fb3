"""Finds where the result of a boolean ufunc of a tensor is inverted or used as an index.
NumPy returns the result of a ufunc of a CPU tensor as a tensor, and torch converts the booleans to uint8 there.
"""

from __future__ import annotations

import ast

from tonumpy.conversions import FalseMask, MaskUse
from tonumpy.detectors.registry import Search
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.interpreter.ufuncs import UFUNCS, sole_tensors
from tonumpy.engine.names.bindings import full_names, in_full
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values import values as v
from tonumpy.engine.values.value_facts import members
from tonumpy.text.candidates import OperationSite, Scope, Site, find_calls, find_operations
from tonumpy.text.names import last_name, path_of
from tonumpy.text.prefilter import BOOLEAN_UFUNCS

KIND = "masks"

_FILLING = frozenset("masked_fill masked_fill_ masked_select masked_scatter masked_scatter_".split())


def find(search: Search) -> list[FalseMask]:
    """The results that are used as masks and are none, in the order of the text."""
    module = search.module
    source = module.source
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code
    names = full_names(source.tree.body)
    rows = sorted({row for name in BOOLEAN_UFUNCS for row in source.rows_with_name(name)})
    ufuncs = find_calls(source, rows, lambda call: in_full(path_of(call.func) or "", names) in UFUNCS)
    if not ufuncs:
        return []
    sites = _sites(module, ufuncs)
    observed = observe(module, sites)
    found = (_conversion(site, observed.get(id(site.call)), ufuncs) for site in sites)
    return [each for each in found if each is not None]


def _sites(module: Module, ufuncs: list[Site]) -> list[Site | OperationSite]:
    """The sites that invert, index or fill by a mask, in a top-level function or class that holds a ufunc."""
    source = module.source
    rows = sorted({*source.rows_with("~"), *source.rows_with("[")})
    operations = find_operations(source, rows, (ast.UnaryOp, ast.Subscript), _is_index_or_inverse)
    rows = sorted({row for name in _FILLING for row in source.rows_with_name(name)})
    fillings = find_calls(source, rows, lambda call: last_name(call.func) in _FILLING)
    beside = {id(_outermost(each)) for each in ufuncs}
    found: list[Site | OperationSite] = [*operations, *fillings]
    return [each for each in found if id(_outermost(each)) in beside]


def _outermost(site: Site | OperationSite) -> Scope:
    """The top-level function or class that contains a site; else the module."""
    return site.scopes[min(1, len(site.scopes) - 1)]


def _is_index_or_inverse(node: ast.UnaryOp | ast.Subscript) -> bool:
    return isinstance(node, ast.Subscript) or isinstance(node.op, ast.Invert)


def _conversion(site: Site | OperationSite, seen: Observation | None, ufuncs: list[Site]) -> FalseMask | None:
    how = None if seen is None else _use(site, seen)
    if seen is None or how is None:
        return None
    given = (seen.receiver,) if how == "inverted" else seen.arguments.values()
    tensors = [tensor for value in given for part in _parts(value) for tensor in sole_tensors(part)]
    made_of = frozenset[ast.Call]().union(*(tensor.ufuncs for tensor in tensors))
    calls = [each.call for each in ufuncs if each.call in made_of]
    if not made_of or len(calls) < len(made_of) or tensors[0].certainty == "possible":
        return None  # ufuncs in other files are not reported here
    node: ast.expr = site.call  # type: ignore[assignment]
    return FalseMask(
        site=Site(calls[0], site.scopes, (), site.statement, None),
        certainty=tensors[0].certainty,
        on_cpu=True,
        requires_grad=False,
        evidence=tensors[0].evidence,
        function=path_of(calls[0].func) or "",
        argument=node,
        use=how,
    )


def _use(site: Site | OperationSite, seen: Observation) -> MaskUse | None:
    """How a site uses a mask; None if it does not."""
    node = site.call
    if isinstance(node, ast.UnaryOp):
        return "inverted"
    if isinstance(node, ast.Call):
        return "refused"
    if _is_array(seen.receiver):
        return "index"
    statement = site.statement
    is_stored = isinstance(statement, ast.Assign) and node in statement.targets
    is_of_tensor = any(isinstance(each, v.Tensor) for each in members(seen.receiver))
    # `t[mask] = 0`, which torch does by `masked_fill_`: it takes no mask of uint8, as other assignments do.
    put = seen.arguments.positional[1:]
    return "refused" if is_stored and is_of_tensor and put and all(map(v.is_number, put)) else None


def _parts(value: v.Value) -> tuple[v.Value, ...]:
    """The parts of an index: `mask` and `0` in `rows[mask, 0]`."""
    return value.items if isinstance(value, v.Sequence) and value.items is not None else (value,)


def _is_array(value: v.Value) -> bool:
    known = members(value)
    return bool(known) and all(
        isinstance(each, v.NonTensor) and (each.dimensions is not None or each.what.startswith("numpy."))
        for each in known
    )
