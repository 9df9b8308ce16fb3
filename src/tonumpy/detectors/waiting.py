"""Tells by its name what makes the host wait for a device, and which arrays are read only after that."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tonumpy.text.names import last_name
from tonumpy.text.syntax import walk

_WAITING = frozenset("sync synchronize barrier query sleep monitored_barrier".split())


def waits(name: str) -> bool:
    """True if a function of this name makes the host wait, or asks whether it need not any more."""
    lower = name.lower()
    return lower in _WAITING or "synchronize" in lower or lower.startswith("sync_") or lower.endswith("_sync")


def view_waited_for(statement: ast.stmt, following: Iterable[ast.stmt]) -> tuple[ast.Name, ast.expr] | None:
    """Return the name and the tensor of `view = host.numpy()`, which reads no values, if the statements that follow in
    the block wait before one of them names the array."""
    match statement:
        case ast.Assign([ast.Name() as target], ast.Call(ast.Attribute(tensor, "numpy"), [], [])):
            for each in following:
                if any(isinstance(node, ast.Name) and node.id == target.id for node in walk(each)):
                    break
                call = each.value if isinstance(each, ast.Expr) else None
                if isinstance(call, ast.Call) and waits(last_name(call.func) or ""):
                    return target, tensor
    return None
