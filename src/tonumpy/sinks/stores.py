"""From assignments into tables and files, `table["x"] = t` or `file["a"][...] = t`, to the conversions they make.

A column of pandas and a dataset of h5py take a tensor, and raise where NumPy does; measured with pandas 2.3 and 3.0 and
h5py 3.16.
"""

from __future__ import annotations

import ast
import re

from tonumpy.inference.lattice.values import NonTensor, evidence_in, is_text, members
from tonumpy.inference.summaries.budget import MAX_STATEMENTS_OF_SINKS
from tonumpy.inference.summaries.driver import observe
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.arguments import facts_of, made_of, spelt
from tonumpy.sinks.non_tensor_names import NonTensorNames
from tonumpy.sinks.shapes import may_be_a_tensor
from tonumpy.text import candidates

if TYPE_CHECKING:
    from collections.abc import Sequence as Items

    from tonumpy.conversions import ImplicitConversion
    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.values import Value
    from tonumpy.inference.summaries.driver import Observations
    from tonumpy.sinks.risk_scan import RiskScan
    from tonumpy.text.candidates import OperationSite
    from tonumpy.text.source import Source

_LIBRARIES = ("h5py", "pandas")
_STORE = re.compile(r"\][ \t]*=(?!=)")


def find_stores(source: Source, risks: RiskScan) -> list[OperationSite]:
    """The assignments that may put a tensor into a table or file, where something may go wrong."""
    if not any(library in source.text for library in _LIBRARIES) or not risks.begins:
        return []
    places = (match.start() for match in _STORE.finditer(source.text))
    rows = {source.position_at(place).row for place in places if risks.is_near(place)}
    scopes: dict[ast.AST, NonTensorNames] = {}
    found = []
    for site in candidates.find_operations(source, sorted(rows), (ast.Subscript,), _is_stored):
        scope, statement = site.scopes[-1], site.statement
        if isinstance(statement, ast.Assign) and statement.targets == [site.node] and may_be_a_tensor(
            statement.value, {}
        ):
            if scope not in scopes:
                scopes[scope] = NonTensorNames(scope, frozenset())
            if not scopes[scope].is_plain(statement.value):
                found.append(site)
    return found


def infer_stores(module: Module, sites: Items[OperationSite]) -> list[ImplicitConversion]:
    """The conversions that are at risk, if only without habits, in the order of the sites."""
    observed = observe(
        module,
        sites,
        MAX_STATEMENTS_OF_SINKS,
        may_be_found=lambda group, seen: any(_judged(site, seen) is not None for site in group),
    )
    judged = (_judged(site, observed) for site in sites)
    return [each for each in judged if each is not None]


def _judged(site: OperationSite, observed: Observations) -> ImplicitConversion | None:
    seen = observed.get(id(site.node))
    if seen is None or not isinstance(site.statement, ast.Assign) or len(seen.arguments.positional) != 2:
        return None
    key, value = seen.arguments.positional
    facts = facts_of(value) if _takes(seen.receiver, key) else None
    if facts is None:
        return None
    function = f"{spelt(site.node)} = ..."
    found = made_of(site, function, site.statement.value, facts, seen, evidence_in(value))
    found = found._replace(keeps_value=facts.is_sole)
    return found if found.risks or found.without_habits().risks else None


def _takes(receiver: Value, key: Value) -> bool:
    roots = {each.what.partition(".")[0] for each in members(receiver) if isinstance(each, NonTensor)}
    return "h5py" in roots or ("pandas" in roots and is_text(key))


def _is_stored(node: ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Store)
