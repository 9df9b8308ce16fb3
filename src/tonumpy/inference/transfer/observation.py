"""Runs what nobody reads no further than it takes to see the calls of interest in it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import arguments_of
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.inference.transfer.members import resolve
from tonumpy.text.syntax import children_of, walk

if TYPE_CHECKING:
    from tonumpy.engine.values.values import Value
    from tonumpy.inference.transfer.frame import Frame


def observe_calls(frame: Frame, node: ast.expr) -> None:
    """Evaluate an expression whose value nobody reads, as far as it takes to see the calls of interest in it."""
    if id(node) in frame.targets.calls:
        if not frame.analysis.watched:  # or it may call the function that is asked about
            frame.seen.not_followed.add(id(node))
        frame.evaluator.expression(frame, node)
        return
    if isinstance(node, (ast.Yield, ast.YieldFrom)) and node.value is not None:
        observe_calls(frame, node.value)
        return
    keeps_values = any(isinstance(each, (ast.Lambda, ast.NamedExpr)) for each in walk(node))
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)) and not keeps_values:
        # What is called for each item gives what nobody reads, and only that: `[f(x) for x in items]`.
        if id(node.elt) in frame.targets.calls and not frame.analysis.watched:
            frame.seen.not_followed.add(id(node.elt))
        frame.evaluator.expression(frame, node)
        return
    if not isinstance(node, ast.Call) or keeps_values:
        frame.evaluator.expression(frame, node)
        return
    called = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    if _holds_target(frame, called):
        frame.evaluator.expression(frame, called)
    for argument in arguments_of(node):
        if _holds_target(frame, argument):
            observe_calls(frame, argument.value if isinstance(argument, ast.Starred) else argument)


def evaluate_parts(frame: Frame, node: ast.expr, parts: frozenset[int]) -> None:
    """Evaluate some parts of an expression, by their ids, and not the rest; none stands in a lambda or a conditional,
    unless with all of that."""
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        if id(part) in parts and isinstance(part, ast.expr):
            frame.evaluator.expression(frame, part)
        else:
            stack += children_of(part)[::-1]


def observe_calls_of_targets(frame: Frame, statement: ast.stmt) -> None:
    """Those in what a statement assigns to, `counts[labels.numpy()] = 1`: what is assigned may concern nobody."""
    for node in (each.target for each in stores_of(statement)):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            parts = [node.value] if isinstance(node, ast.Attribute) else [node.value, node.slice]
            for part in parts:
                if _holds_target(frame, part):
                    frame.evaluator.expression(frame, part)
            if id(node) in frame.targets.calls and isinstance(statement, ast.Assign):
                frame.observe_operation(node, *(_settled(frame, each) for each in (*parts, statement.value)))


def _settled(frame: Frame, node: ast.expr) -> Value:
    return resolve(frame, frame.evaluator.expression(frame, node))


def _holds_target(frame: Frame, node: ast.expr) -> bool:
    return any(id(inner) in frame.targets.calls for inner in walk(node))
