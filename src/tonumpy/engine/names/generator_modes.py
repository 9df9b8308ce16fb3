"""From a loop over a generator to grad mode in the loop's body: a context that the generator yields in holds there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.grad_contexts import GRAD_CONTEXTS
from tonumpy.engine.names.references import functions_named
from tonumpy.text.names import last_name
from tonumpy.text.syntax import SCOPES, blocks_of, own_expressions, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.engine.names.module import Module


def mode_in_rounds(module: Module, iterable: ast.expr) -> str:
    """What a generator of the module makes of grad mode where its items are used: "on", "off", "unknown", "unchanged".

    `for x in batches()`, `for i, x in enumerate(self.batches())`.
    """
    if not isinstance(iterable, ast.Call) or not module.words.speaks_of_grad_mode:
        return "unchanged"
    names = {last_name(call.func) or "" for call in walk(iterable) if isinstance(call, ast.Call)}
    modes = {module.derived_of(_mode_of_generator, name) for name in names} - {"unchanged"}
    return "unknown" if len(modes) > 1 else next(iter(modes), "unchanged")


def _mode_of_generator(module: Module, name: str) -> str:
    if not module.text.says("holds", f"def {name}(") or not module.text.says("holds", "yield"):
        return "unchanged"
    modes = {mode for each in functions_named(module, name) for mode in _modes_of_yields(each.body, "unchanged")}
    return "unknown" if len(modes) > 1 else next(iter(modes), "unchanged")


def _modes_of_yields(body: list[ast.stmt], mode: str) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, SCOPES):
            continue
        inside = mode
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                inside = _mode_of_context(item.context_expr) or inside
        own = (node for each in own_expressions(statement) for node in walk(each))
        if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in own):
            yield inside
        for block in blocks_of(statement):
            yield from _modes_of_yields(block, inside)


def _mode_of_context(node: ast.expr) -> str | None:
    mode = GRAD_CONTEXTS.get(last_name(node.func if isinstance(node, ast.Call) else node) or "")
    return "unknown" if mode and isinstance(node, ast.Call) and (node.args or node.keywords) else mode
