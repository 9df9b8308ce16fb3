"""From a source to the comparisons with `pytest.approx(...)`, which converts a tensor, as implicit conversions.

Measured with pytest 9.2: whatever stands in the brackets, it raises TypeError or RuntimeError where `.numpy()` would.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.value_facts import evidence_in
from tonumpy.sinks.arguments import facts_of, made_of, spelt
from tonumpy.sinks.shapes import may_be_a_tensor
from tonumpy.text import candidates
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.conversions import ImplicitConversion
    from tonumpy.engine.interpreter.frame import Observation
    from tonumpy.engine.names.module import Module
    from tonumpy.sinks.possible_tensors import PossibleTensors
    from tonumpy.text.candidates import OperationSite

_EQUALITIES = (ast.Eq, ast.NotEq)


def infer_approximations(module: Module, risks: Callable[[], PossibleTensors]) -> list[ImplicitConversion]:
    """Those at risk, if only without habits, in the order of the text."""
    source = module.source
    rows = sorted(set(source.rows_with("approx(")))
    found = candidates.find_operations(source, rows, (ast.Compare,), lambda node: _compared(node) is not None)
    sites = [
        site
        for site in found
        if isinstance(site.node, ast.Compare)
        and (tensor := _compared(site.node)) is not None
        and may_be_a_tensor(tensor, {})
        and risks().reaches(tensor, site.scopes)
    ]
    observed = observe(module, sites) if sites else {}
    return [made for site in sites if (made := _conversion(site, observed.get(id(site.node)))) is not None]


def _conversion(site: OperationSite, seen: Observation | None) -> ImplicitConversion | None:
    assert isinstance(site.node, ast.Compare)
    tensor = _compared(site.node)
    if seen is None or tensor is None:
        return None
    value = seen.receiver if tensor is site.node.left else seen.arguments.positional[0]
    facts = facts_of(value)
    if facts is None or facts.certainty == "possible" or not facts.is_sole:
        return None
    made = made_of(site, spelt(site.node), tensor, facts, seen, evidence_in(value))._replace(keeps_value=True)
    return made if made.risks or made.without_habits().risks else None


def _compared(node: ast.Compare) -> ast.expr | None:
    """What is compared with an approximation."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], _EQUALITIES):
        return None
    sides = (node.left, node.comparators[0])
    for one, other in (sides, sides[::-1]):
        if isinstance(one, ast.Call) and last_name(one.func) == "approx":
            return other
    return None
