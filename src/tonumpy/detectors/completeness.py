"""Finds the candidates that cannot raise for grad or device, without inference.
Their chains are complete, or move the tensor to the CPU in a block or function with grad mode off.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NamedTuple

from tonumpy.detectors.memory import Sharing
from tonumpy.engine.knowledge.chains import chain_of
from tonumpy.engine.knowledge.grad_contexts import GRAD_CONTEXTS, may_turn_grad_on
from tonumpy.text.candidates import Candidate, is_in_row
from tonumpy.text.source import Source
from tonumpy.text.syntax import own_expressions, statements_of, walk


class Complete(NamedTuple):
    """Complete candidates of a file; `sharing` computes the shared memory of all candidates, and is called last.
    `loses_gradient` returns the row where a loss made of a candidate's array alone is trained on.
    """

    candidates: list[Candidate]
    source: Source
    sharing: Callable[[], Sharing]
    loses_gradient: Callable[[Candidate], int | None]


def complete_candidates(source: Source, candidates: list[Candidate]) -> list[Candidate]:
    may_be_on = may_turn_grad_on(source.text)
    return [
        candidate
        for candidate in candidates
        if has_complete_chain(candidate) or (not may_be_on and _is_brought_to_cpu_without_grad(candidate))
    ]


def has_complete_chain(candidate: Candidate) -> bool:
    return candidate.is_forced or chain_of(candidate.receiver).is_surely_complete


def _is_brought_to_cpu_without_grad(candidate: Candidate) -> bool:
    if chain_of(candidate.receiver).cpu is None:
        return False
    if any(isinstance(node, ast.Lambda) for part in own_expressions(candidate.statement) for node in walk(part)):
        return False  # it may be called later
    scope = candidate.scopes[-1]
    return any(map(_turns_grad_off, getattr(scope, "decorator_list", ()))) or any(
        _turns_grad_off(item.context_expr)
        for statement in statements_of(scope.body)
        if isinstance(statement, (ast.With, ast.AsyncWith)) and _holds(statement, candidate)
        for item in statement.items
    )


def _holds(statement: ast.With | ast.AsyncWith, candidate: Candidate) -> bool:
    row = candidate.statement.lineno
    return statement is not candidate.statement and is_in_row(statement, row)


def _turns_grad_off(node: ast.expr) -> bool:
    """True for `torch.no_grad()` and `torch.inference_mode()`."""
    return (
        isinstance(node, ast.Call)
        and not (node.args or node.keywords)
        and isinstance(node.func, ast.Attribute)
        and GRAD_CONTEXTS.get(node.func.attr) == "off"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "torch"
    )
